//! `bind IN.wasm FOLDER`: the glue between a page and the program, as `wasm-bindgen --target web` makes it.

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, from, to] = &args[..] else { anyhow::bail!("bind IN.wasm FOLDER") };
    // Names of functions are for a debugger, and a fifth of the file.
    let mut bind = wasm_bindgen_cli_support::Bindgen::new();
    bind.input_path(from).web(true)?.typescript(false).remove_name_section(true).remove_producers_section(true).generate(to)
}
