//! What can be typed behind `recto token`.

use std::str::FromStr;

use clap::{Args, Subcommand};
use jiff::SignedDuration;

use super::JsonArg;

/// The commands of `recto token`.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token and print it; it is shown this once, and only its hash is kept
    Create(TokenCreateArgs),
    /// List the tokens, when each was last used and when it ends
    List {
        /// List those that were revoked, too
        #[arg(long)]
        all: bool,
        /// How to print them
        #[command(flatten)]
        json: JsonArg,
    },
    /// Revoke a token: from now on it lets nobody in
    Revoke {
        /// The token's name or number
        name: String,
        /// How to print it
        #[command(flatten)]
        json: JsonArg,
    },
}

/// The arguments of `recto token create`.
#[derive(Debug, Args)]
pub struct TokenCreateArgs {
    /// What to call it, such as the program or the person that gets it
    #[arg(value_parser = parse_name)]
    pub name: String,
    /// It is for somebody else, who has sessions of their own and doesn't see yours
    #[arg(long)]
    pub guest: bool,
    /// Whoever has it may look, and do nothing else
    #[arg(long)]
    pub read: bool,
    /// It ends by itself after this time, such as 30d, 12h or 45m [default: never]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<TokenLifetime>,
    /// How to print it
    #[command(flatten)]
    pub json: JsonArg,
}

/// How long a token is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenLifetime(pub SignedDuration);

/// The longest time that can be asked for, in minutes: a hundred years.
const MAX_MINUTES: i64 = 100 * 366 * 24 * 60;

impl FromStr for TokenLifetime {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let problem = "it takes a number with its unit, such as 45m, 12h, 30d or 8w";
        let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or(problem)?;
        let minutes = match unit {
            "m" => 1,
            "h" => 60,
            "d" => 24 * 60,
            "w" => 7 * 24 * 60,
            _ => return Err(problem),
        };
        let number: i64 = number.parse().map_err(|_| problem)?;
        let minutes = number.checked_mul(minutes).filter(|all| (1..=MAX_MINUTES).contains(all));
        minutes.map(|all| TokenLifetime(SignedDuration::from_mins(all))).ok_or(problem)
    }
}

/// The most characters of a token's name.
const MAX_NAME: usize = 64;

/// A name that can be told from a number, and shown on a line.
fn parse_name(text: &str) -> Result<String, &'static str> {
    let name = text.trim();
    let is_number = name.chars().all(|c| c.is_ascii_digit());
    if name.is_empty() || is_number || name.chars().any(char::is_control) {
        return Err("a token's name has a letter, and no control characters");
    }
    match name.chars().count() <= MAX_NAME {
        true => Ok(name.to_owned()),
        false => Err("a token's name has at most 64 characters"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_have_a_unit() {
        for (text, minutes) in [("45m", 45), ("12h", 720), ("30d", 43_200), ("2w", 20_160)] {
            let expected = TokenLifetime(SignedDuration::from_mins(minutes));
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for bad in ["", "d", "0d", "-1d", "30", "1y", "1.5d", "99999999999d", "3ä"] {
            assert!(bad.parse::<TokenLifetime>().is_err(), "{bad}");
        }
    }

    #[test]
    fn names_are_no_numbers() {
        assert_eq!(parse_name(" my phone ").as_deref(), Ok("my phone"));
        for bad in ["", " ", "12", "a\nb", &"x".repeat(65)] {
            assert!(parse_name(bad).is_err(), "{bad}");
        }
    }
}
