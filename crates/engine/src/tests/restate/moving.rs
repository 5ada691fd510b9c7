//! Imports that are cut off, and services at other addresses than the import that filled their store.

use super::server::{Running, Server, close, deliver, free_port, limits, open, seen, state};
use crate::moving::{export, import};
use crate::tests::toy::{Input, Mouth, Toy, say};
use crate::{Engine, EngineError};
use std::io::{self, BufRead, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;

/// A file of a store with two lives. One waits for an effect, one for a timer that is overdue.
async fn exported() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("life.db").to_str().unwrap().to_owned();
    let engine = open(&name, Toy, limits()).await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    let later = Input::Later {
        after_ms: 1,
        add: 9,
    };
    deliver(&engine, "1/8", "b", later).await;
    Arc::into_inner(engine).unwrap().close().await;
    let mut file = Vec::new();
    export(&name, &mut file).await.unwrap();
    file
}

/// A file that can be read once, and breaks at its last life when it is read again.
struct Broken {
    file: Cursor<Vec<u8>>,
    rewound: u32,
}

impl Broken {
    fn is_over(&self) -> bool {
        let at = usize::try_from(self.file.position()).unwrap();
        let left = &self.file.get_ref()[at..];
        self.rewound == 2 && left.starts_with(br#"{"life":{"key":"1/8""#)
    }
}

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl BufRead for Broken {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.is_over() {
            return Err(io::Error::other("the disk is gone"));
        }
        self.file.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.file.consume(amount);
    }
}

impl Seek for Broken {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.rewound += 1;
        self.file.seek(position)
    }
}

#[tokio::test]
async fn an_import_that_was_cut_off_goes_on_with_the_same_file_and_no_other() {
    let Some(server) = Server::start() else {
        return;
    };
    let (file, store) = (exported().await, server.store(free_port()));
    let mut broken = Broken {
        file: Cursor::new(file.clone()),
        rewound: 0,
    };
    let told = import(&store, &mut broken).await.unwrap_err().to_string();
    assert!(told.contains("the disk is gone"), "{told}");

    let clock = Arc::new(crate::clock::SystemClock::default());
    let refused = Engine::open(&store, Toy, limits(), clock).await;
    let error = refused.map(drop).unwrap_err();
    assert!(matches!(error, EngineError::HalfImported { .. }), "{error}");
    let error = export(&store, &mut Vec::new()).await.unwrap_err();
    assert!(matches!(error, EngineError::HalfImported { .. }), "{error}");
    let other = exported().await;
    let error = import(&store, &mut Cursor::new(other)).await.unwrap_err();
    assert!(matches!(error, EngineError::HalfImported { .. }), "{error}");

    import(&store, &mut Cursor::new(file)).await.unwrap();
    let engine = open(&store, Toy, limits()).await;
    let running = Running::start(&engine, &Arc::new(Mouth::default()));
    seen(&engine, "1/7", 2).await;
    seen(&engine, "1/8", 2).await;
    close(engine, running).await;
}

#[tokio::test]
async fn what_waits_is_sent_by_the_service_wherever_it_listens_and_once() {
    let Some(server) = Server::start() else {
        return;
    };
    let file = exported().await;
    let store = server.store(free_port());
    import(&store, &mut Cursor::new(file)).await.unwrap();
    // A front starts first, and a worker at another address than that of the import.
    let front = open(&server.store_without_endpoint(), Toy, limits()).await;
    let engine = open(&server.store(free_port()), Toy, limits()).await;
    assert!(deliver(&front, "1/7", "a", say("hello")).await.duplicate);
    let mouth = Arc::new(Mouth::default());
    let running = Running::start(&engine, &mouth);
    seen(&engine, "1/7", 2).await;
    seen(&engine, "1/8", 2).await;
    close(engine, running).await;
    // Nothing is sent again by the next start.
    let engine = open(&server.store(free_port()), Toy, limits()).await;
    let running = Running::start(&engine, &mouth);
    deliver(&engine, "1/7", "c", say("next")).await;
    seen(&engine, "1/7", 4).await;
    assert_eq!(
        state(&engine, "1/7").await.seen,
        ["say hello", "said hello", "say next", "said next"]
    );
    assert_eq!(state(&engine, "1/8").await.seen, ["later", "add 9"]);
    assert_eq!(state(&engine, "1/8").await.total, 9);
    close(engine, running).await;
}
