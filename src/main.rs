//! The `vifo` program: turns the library's errors into one line and an exit code. In a browser: the app.

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;
    // Mesa's device-select layer complains on stderr where no desktop session is; we choose the adapter ourselves.
    // SAFETY: no thread has been started yet.
    unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    match vifo::cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            vifo::cli::tell(&format!("error: {error}"));
            ExitCode::from(error.downcast_ref::<vifo::error::Error>().map_or(1, |e| e.exit_code()))
        }
    }
}

#[cfg(target_arch = "wasm32")]
fn main() {
    #[cfg(feature = "app")]
    vifo::gui::shell::start();
}
