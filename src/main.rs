//! The `vifo` program: turns the library's errors into one line and an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    match vifo::cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.downcast_ref::<vifo::error::Error>().map_or(1, |e| e.exit_code()))
        }
    }
}
