//! The world of the service, watched: each effect is told, and the service may die before or after it.

use super::stage::Stage;
use crate::serve::machine::Lifecycle;
use crate::serve::world::ServiceWorld;
use reviewer_core::lifecycle::{Effect, Input};
use reviewer_engine::{EffectError, EffectId, World};
use std::sync::{Arc, Weak};

pub(super) struct Watched {
    pub stage: Weak<Stage>,
    pub inner: Arc<ServiceWorld>,
}

impl World<Lifecycle> for Watched {
    async fn execute(&self, id: &EffectId, effect: Effect) -> Result<Option<Input>, EffectError> {
        let Some(stage) = self.stage.upgrade() else {
            return Ok(None);
        };
        let number = stage.count();
        stage.survive(number, false).await;
        let words = words(&effect);
        let answer = self.inner.execute(id, effect).await;
        let answered = match &answer {
            Ok(Some(Input::Merge { answer, .. })) => format!("{answer:?}"),
            Ok(Some(Input::Compared { identical, .. })) => format!("identical: {identical}"),
            Ok(_) => String::new(),
            Err(error) => format!("error: {error}"),
        };
        stage.tell(format!("effect {number} ({}): {words} {answered}", id.seq));
        stage.pump();
        stage.survive(number, true).await;
        answer
    }

    async fn holds_back(&self, key: &str) -> Option<u64> {
        self.inner.holds_back(key).await
    }
}

fn words(effect: &Effect) -> String {
    match effect {
        Effect::Dispatch {
            dispatch,
            task,
            head,
            agent,
            ..
        } => format!(
            "dispatch {dispatch} of {agent} for {:.7}: {task:?}",
            head.as_str()
        ),
        Effect::Compare { from, to } => format!("compare {:.7} {:.7}", from.as_str(), to.as_str()),
        Effect::Merge { head, .. } => format!("merge {:.7}", head.as_str()),
        other => format!("{other:?}"),
    }
}
