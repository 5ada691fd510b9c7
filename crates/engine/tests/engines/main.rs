//! One suite over all engines: the same seeded sequences of inputs, the same faults, the same ends. It prints a table.
//! `ENGINES=sqlite,postgres SEEDS=300 FIRST=1 cargo test -p reviewer-engine --test engines [check]`; without variables it is
//! SQLite, the reference and a few seeds. The engine `restate` needs `--features restate`.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests stop at the first surprise, and are an edge"
)]

mod checks;
mod child;
mod deaths;
mod diary;
mod memory;
mod migration;
mod model;
mod moving;
mod node;
mod ports;
#[cfg(feature = "restate")]
mod restate;
mod server;
mod sql;
mod stage;
mod subject;
mod table;
mod toy;

use memory::Memory;
#[cfg(feature = "restate")]
use restate::Restate;
use sql::{Postgres, Sqlite};
use std::process::ExitCode;
use subject::Subject;
use table::{Choice, Table};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    if let [child, engine, rest @ ..] = &arguments[..]
        && child == child::ROLE
    {
        match engine.as_str() {
            Sqlite::NAME => runtime.block_on(child::live::<Sqlite>(rest)),
            Postgres::NAME => runtime.block_on(child::live::<Postgres>(rest)),
            #[cfg(feature = "restate")]
            Restate::NAME => runtime.block_on(child::live::<Restate>(rest)),
            other => panic!("no engine {other}"),
        }
        return ExitCode::SUCCESS;
    }
    let choice = Choice::read(&arguments);
    let mut table = Table::default();
    runtime.block_on(async {
        table.add::<Memory>(&choice).await;
        table.add::<Sqlite>(&choice).await;
        table.add::<Postgres>(&choice).await;
        #[cfg(feature = "restate")]
        table.add::<Restate>(&choice).await;
    });
    table.print(&choice);
    table.code()
}
