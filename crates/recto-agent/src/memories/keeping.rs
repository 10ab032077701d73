//! Memories as whoever looks after the agent sees and changes them: those of everybody, also the
//! forgotten ones. What a turn or a guest may do with memories is decided elsewhere.

use jiff::Zoned;
use recto_context::{Audience, Memory, MemoryMarks, MemoryScope, TypedMemory, nearest_name};
use recto_workspace::{
    AddedMemory, AllMemories, ForgottenMemory, MemoryError, NewMemory, TextMarks,
};

use super::RememberError;
use crate::actor::Actor;
use crate::agent::Agent;
use crate::error::AgentResult;
use crate::rights::Right;

/// The number of digits that leaves no doubt, also where two names begin alike.
const SURE_DIGITS: usize = 16;

/// A change of a memory; what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryEdit {
    /// Another text.
    pub text: Option<String>,
    /// Other marks.
    pub marks: Option<MemoryMarks>,
}

impl Agent {
    /// All that is remembered of anybody.
    pub async fn all_memories(&self, actor: &Actor) -> AgentResult<AllMemories> {
        actor.must_have(Right::SeeWorkspace)?;
        let memories = self.memories();
        Ok(memories.files().read_everything(&memories.owner()).await)
    }

    /// All that was forgotten.
    pub async fn forgotten_memories(&self, actor: &Actor) -> AgentResult<AllMemories> {
        actor.must_have(Right::SeeWorkspace)?;
        Ok(self.memories().files().read_forgotten().await)
    }

    /// Remembers a text, as the owner's. Marks at its beginning mean what `marks_in_text` says.
    pub async fn add_memory(
        &self,
        actor: &Actor,
        text: &str,
        marks: MemoryMarks,
        marks_in_text: TextMarks,
    ) -> AgentResult<AddedMemory> {
        actor.must_have(Right::ChangeWorkspace)?;
        let new = NewMemory {
            text: text.to_owned(),
            scope: MemoryScope::Global,
            marks,
            marks_in_text,
            at: Zoned::now(),
        };
        Ok(self.memories().files().add(new).await.map_err(RememberError::from)?)
    }

    /// Gives a memory another text, other marks, or both.
    pub async fn edit_memory(
        &self,
        actor: &Actor,
        name: &str,
        edit: MemoryEdit,
    ) -> AgentResult<Memory> {
        actor.must_have(Right::ChangeWorkspace)?;
        let memory = find_memory(name, &self.all_memories(actor).await?)?;
        let audience = self.keeper(&memory.scope);
        let MemoryEdit { text, marks } = edit;
        let with_marks = move |old| marks.unwrap_or(old);
        let files = self.memories().files();
        let edited = files.edit(&sure_name(&memory), text.as_deref(), with_marks, &audience).await;
        Ok(edited.map_err(RememberError::from)?)
    }

    /// Moves a memory to the archive.
    pub async fn forget_memory(&self, actor: &Actor, name: &str) -> AgentResult<ForgottenMemory> {
        actor.must_have(Right::ChangeWorkspace)?;
        let memory = find_memory(name, &self.all_memories(actor).await?)?;
        let audience = self.keeper(&memory.scope);
        let forgotten = self.memories().files().forget(&sure_name(&memory), &audience).await;
        Ok(forgotten.map_err(RememberError::from)?)
    }

    /// Brings back what was forgotten.
    pub async fn restore_memory(&self, actor: &Actor, name: &str) -> AgentResult<AddedMemory> {
        actor.must_have(Right::ChangeWorkspace)?;
        let memory = find_memory(name, &self.forgotten_memories(actor).await?)?;
        let restored = self.memories().files().restore(&memory).await;
        Ok(restored.map_err(RememberError::from)?)
    }

    /// The owner, where memories of this scope can be changed.
    fn keeper(&self, scope: &MemoryScope) -> Audience {
        let owner = self.memories().owner();
        match scope {
            MemoryScope::Global => owner,
            MemoryScope::Person(id) => Audience { person: Some(id.clone()), ..owner },
            MemoryScope::Conversation(key) => Audience { conversation: Some(key.clone()), ..owner },
            MemoryScope::Agent(id) => Audience { agent: Some(id.clone()), ..owner },
        }
    }
}

/// The one memory that a name means.
fn find_memory(name: &str, known: &AllMemories) -> Result<Memory, RememberError> {
    match *TypedMemory::new(name).among(&known.memories) {
        [memory] => Ok(memory.clone()),
        [] => {
            let names = known.memories.iter().map(|memory| &*memory.name);
            let nearest = nearest_name(name, names).map(Into::into);
            Err(MemoryError::Unknown { name: name.to_owned(), nearest }.into())
        }
        ref several => {
            let candidates = several.iter().map(|memory| memory.name.clone()).collect();
            Err(MemoryError::Ambiguous { name: name.to_owned(), candidates }.into())
        }
    }
}

/// The name of a memory that no other has, whatever its own begins with.
fn sure_name(memory: &Memory) -> String {
    let file = TypedMemory::new(&memory.name).file().unwrap_or_default();
    format!("{file}#{:.SURE_DIGITS$}", memory.text.hash().to_string())
}
