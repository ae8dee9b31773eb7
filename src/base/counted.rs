//! Numbers of things in words.

/// "1 row", "2 rows".
pub fn counted(n: usize, what: &str) -> String {
    let plural = match what.strip_suffix("ss") {
        _ if n == 1 => "",
        Some(_) => "es",
        None => "s",
    };
    format!("{n} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_a_class_takes_es() {
        let all = [counted(0, "row"), counted(1, "row"), counted(2, "row"), counted(1, "class"), counted(3, "class")];
        assert_eq!(all, ["0 rows", "1 row", "2 rows", "1 class", "3 classes"]);
    }
}
