//! Where the runner put us: the `GITHUB_*` variables, as given.
