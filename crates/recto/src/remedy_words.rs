//! The commands of this surface that a [`Remedy`] means.
//!
//! Everything below names what can be done, and this file alone how it is typed.

use recto_context::Remedy;

/// A text for a person, with the command that does what it advises.
pub(crate) fn with_command(text: impl Into<String>, remedy: Option<&Remedy>) -> String {
    let text = text.into();
    match remedy {
        Some(remedy) => format!("{text} ({})", command(remedy)),
        None => text,
    }
}

/// A hint, if there is one, with the command that does what it advises.
pub(crate) fn hint_with_command(hint: Option<String>, remedy: Option<&Remedy>) -> Option<String> {
    hint.map(|hint| with_command(hint, remedy))
}

pub(crate) fn command(remedy: &Remedy) -> String {
    let fixed = match remedy {
        Remedy::FreeModelName { name } => return format!("`--name`, `recto models remove {name}`"),
        Remedy::TrustSkill { skill } => return format!("`recto tools trust {skill}`"),
        Remedy::OpenSession { name } => return format!("`recto chat --session {name}`"),
        Remedy::CheckServer { server } => return format!("`recto mcp check {server}`"),
        Remedy::AnswerApproval { approval } => {
            return format!("`recto approvals answer {approval} allow`");
        }
        Remedy::ApprovePairing { pairing_code: code } => {
            return format!("`recto pair approve {code}` (and `--owner`, to let in oneself)");
        }
        Remedy::ShowTurn { turn } => return format!("`recto show {turn}`"),
        Remedy::ShowOneRequest { turn, request } => {
            return format!("`recto show {turn} --request {request}`");
        }
        Remedy::CheckModels => "`recto models check`",
        Remedy::PullModel => "`recto models pull NAME`",
        Remedy::PullModelFile => "`recto models pull PATH`",
        Remedy::PullEncoder => "`recto models pull minilm`",
        Remedy::PullFirstModel => "`recto models pull smollm2`",
        Remedy::InspectSetup => "`recto doctor`",
        Remedy::ShowRequest => "`recto show --body`",
        Remedy::ListItems => "`recto rules list`, `references list`, `skills list`, `tools list`",
        Remedy::ListApprovals => "`recto approvals list`",
        Remedy::ListMemories => "`recto memory list`",
        Remedy::SetSkillIncludes => "`recto skills set --all --include agent`",
        Remedy::Remember => "`/remember TEXT`, or `recto memory add TEXT`",
        Remedy::UndoSummary => "`recto sessions expand`",
        Remedy::RenameSession => "`recto sessions rename`",
        Remedy::ListServers => "`recto mcp list`",
        Remedy::InitWorkspace => "`recto init`",
        Remedy::AskAgain => "`/retry` in `recto chat`",
        Remedy::Talk => "`recto chat`",
        Remedy::ListTurns => "`recto sessions show NAME`",
        Remedy::CompareTurns => "`recto diff TURN TURN`",
        Remedy::ReplayOnModel => "`recto replay TURN --model NAME`",
        Remedy::SalvageStore => "`recto store check --salvage`",
        Remedy::CreateToken => "`recto token create NAME`",
    };
    fixed.to_owned()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use clap::error::ErrorKind;

    use super::*;
    use crate::cli::Cli;

    /// Promise: `advice-can-be-typed`
    #[test]
    fn every_command_that_is_advised_is_there() {
        let name = || "x".to_owned();
        let remedies = [
            Remedy::CheckModels,
            Remedy::PullModel,
            Remedy::PullModelFile,
            Remedy::PullEncoder,
            Remedy::PullFirstModel,
            Remedy::FreeModelName { name: name() },
            Remedy::InspectSetup,
            Remedy::ShowRequest,
            Remedy::ListItems,
            Remedy::ListApprovals,
            Remedy::AnswerApproval { approval: 1 },
            Remedy::ListMemories,
            Remedy::TrustSkill { skill: name() },
            Remedy::SetSkillIncludes,
            Remedy::Remember,
            Remedy::UndoSummary,
            Remedy::RenameSession,
            Remedy::OpenSession { name: name() },
            Remedy::ListServers,
            Remedy::CheckServer { server: name() },
            Remedy::InitWorkspace,
            Remedy::AskAgain,
            Remedy::Talk,
            Remedy::ListTurns,
            Remedy::ShowTurn { turn: 3 },
            Remedy::ShowOneRequest { turn: 3, request: 1 },
            Remedy::CompareTurns,
            Remedy::ReplayOnModel,
            Remedy::SalvageStore,
            Remedy::CreateToken,
            Remedy::ApprovePairing { pairing_code: "ABCD2345".to_owned() },
        ];
        for remedy in remedies {
            let advice = with_command("do it", Some(&remedy));
            let typed = advice.split('`').find(|piece| piece.starts_with("recto "));
            let typed = typed.unwrap_or_else(|| panic!("{advice}"));
            if let Err(error) = Cli::try_parse_from(typed.split(' ')) {
                // Which session is meant is for the person to say.
                assert_eq!(error.kind(), ErrorKind::MissingRequiredArgument, "{typed}");
            }
        }
        assert_eq!(with_command("do it", None), "do it");
    }
}
