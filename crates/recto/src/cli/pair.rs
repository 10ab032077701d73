//! What can be typed behind `recto pair`.

use clap::{Args, Subcommand};

use super::JsonArg;

/// The commands of `recto pair`.
#[derive(Debug, Subcommand)]
pub enum PairCommand {
    /// List who waits to be let in, and who is
    List {
        /// List those who were put out, too
        #[arg(long)]
        all: bool,
        /// How to print them
        #[command(flatten)]
        json: JsonArg,
    },
    /// Let in whoever was given this code in a chat, or waits under this number
    Approve(PairApproveArgs),
    /// Put somebody out who is let in, or refuse who waits
    Revoke {
        /// Their number, as `recto pair list` has it
        number: String,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
}

/// The arguments of `recto pair approve`.
#[derive(Debug, Args)]
pub struct PairApproveArgs {
    /// The code, as the person tells it, or their number, as `recto pair list` has it; who is let in
    /// already can so be made the owner, or another person
    pub code: String,
    /// It is you: whoever writes from this account is the agent's owner
    #[arg(long, conflicts_with = "person")]
    pub owner: bool,
    /// It is this person, who may have other accounts: they share memories [default: the account]
    #[arg(long, value_name = "NAME", value_parser = parse_person)]
    pub person: Option<String>,
    /// How to print it
    #[command(flatten)]
    pub json: JsonArg,
}

/// The most characters of a person's name.
const MAX_PERSON: usize = 64;

/// A name that can be that of a file, and is nobody else's.
fn parse_person(text: &str) -> Result<String, &'static str> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    let is_name = text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(is_plain);
    if !is_name || text.len() > MAX_PERSON {
        return Err(
            "it takes small letters, digits, - and _, at most 64, and begins with a letter",
        );
    }
    match text {
        "owner" => Err("that is you: use --owner"),
        name if name.starts_with("token-") => Err("that is a token's; choose another name"),
        name => Ok(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_have_names_that_are_nobody_elses() {
        assert_eq!(parse_person("anna").as_deref(), Ok("anna"));
        for bad in ["", "Anna", "../x", "owner", "token-1", "1a", "a b", &"x".repeat(65)] {
            assert!(parse_person(bad).is_err(), "{bad}");
        }
    }
}
