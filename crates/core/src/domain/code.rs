//! Recognises code by the last extension of a file's name.

/// Extensions of files that a machine executes, compiles or renders.
const CODE: [&str; 70] = [
    "asm", "astro", "awk", "bash", "bat", "bzl", "c", "cc", "cjs", "clj", "cljs", "cmd", "cpp",
    "cs", "css", "cts", "cu", "cxx", "dart", "el", "erl", "ex", "exs", "fish", "fs", "go",
    "gradle", "groovy", "h", "hpp", "hs", "html", "java", "jl", "js", "jsx", "kt", "kts", "lua",
    "m", "mjs", "ml", "mm", "mts", "nim", "nix", "php", "pl", "pm", "ps1", "psm1", "py", "pyw",
    "r", "rb", "rs", "scala", "scss", "sh", "sol", "sql", "svelte", "swift", "tf", "ts", "tsx",
    "vb", "vue", "zig", "zsh",
];

/// True if the last extension of a path is one of code.
#[must_use]
pub(crate) fn is_code(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    CODE.iter().any(|code| ending.eq_ignore_ascii_case(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_extension_decides() {
        for path in [
            "src/a.rs",
            ".env.js",
            "id_rsa_helper.py",
            "A.PS1",
            "x.tar.sh",
        ] {
            assert!(is_code(path), "{path}");
        }
        for path in [
            "a.pem",
            "credentials.json",
            ".env",
            "js",
            "a.js.map",
            "a/b.py/c",
        ] {
            assert!(!is_code(path), "{path}");
        }
    }
}
