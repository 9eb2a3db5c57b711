//! Makes the options of the table arguments of the command line.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use meshreel_options::{OptionDescription, PartialOptions, TABLE, ValueCount};

/// Options that change the content of a file, or how it is computed: those of the table. The same keys may
/// stand in an options file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContentOptions {
    /// The values of the options.
    pub options: PartialOptions,
    /// The same as keys and texts, in the order of the table.
    pub given: Vec<(String, String)>,
}

impl Args for ContentOptions {
    fn augment_args(command: Command) -> Command {
        command.args(TABLE.iter().map(argument))
    }
    fn augment_args_for_update(command: Command) -> Command {
        ContentOptions::augment_args(command)
    }
}

impl FromArgMatches for ContentOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ContentOptions, clap::Error> {
        let mut content = ContentOptions::default();
        content.update_from_arg_matches(matches)?;
        Ok(content)
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for option in TABLE {
            let said: Vec<&str> = match option.takes {
                ValueCount::Zero => matches.get_flag(option.key).then_some("true").into_iter().collect(),
                _ => matches.get_many::<String>(option.key).into_iter().flatten().map(|s| &s[..]).collect(),
            };
            for text in said {
                let wrong = |what| clap::Error::raw(clap::error::ErrorKind::ValueValidation, what);
                self.options.set(option.key, text).map_err(wrong)?;
                self.given.push((option.key.into(), text.into()));
            }
        }
        Ok(())
    }
}

/// Returns the argument of an option.
fn argument(option: &'static OptionDescription) -> Arg {
    let argument = Arg::new(option.key)
        .long(option.key)
        .help(option.help())
        .help_heading(option.heading)
        .hide(option.hidden)
        .conflicts_with_all(option.without)
        // Times in seconds may be negative.
        .allow_hyphen_values(option.value == Some("A:B"));
    match option.takes {
        ValueCount::Zero => return argument.action(ArgAction::SetTrue),
        ValueCount::One => argument.action(ArgAction::Set),
        ValueCount::Many => argument.action(ArgAction::Append),
    }
    .value_name(option.value.unwrap_or(option.key))
    .value_parser(|text: &str| option.check(text).map(|()| text.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel_options::OptionSet;

    /// Returns a value that is valid for the option.
    fn value(option: &OptionDescription) -> &'static str {
        let values = [
            "1", "1deg", "1:2", "uvs", "24", "m", "keep", "soft", "packed", "curve", "small", "zstd", "auto",
            "zero",
        ];
        values.into_iter().find(|value| option.check(value).is_ok()).expect(option.key)
    }

    #[test]
    fn every_key_is_an_argument_and_one_of_a_file() {
        for option in TABLE {
            let flag = option.takes == ValueCount::Zero;
            let value = if flag { "true" } else { value(option) };
            let command = ContentOptions::augment_args(Command::new("test"));
            let long = format!("--{}", option.key);
            let line = if flag { vec!["test", &long] } else { vec!["test", &long, value] };
            let matches = command.try_get_matches_from(line).expect(option.key);
            let said = ContentOptions::from_arg_matches(&matches).expect(option.key).options;
            assert_ne!(said, PartialOptions::default(), "{}", option.key);
            let of_file = match (flag, value.parse::<f64>(), option.takes) {
                (true, ..) | (_, Ok(_), ValueCount::One) => value.to_string(),
                (.., ValueCount::Many) => format!("[\"{value}\"]"),
                _ => format!("\"{value}\""),
            };
            let text = match option.key {
                // A name that is a number.
                "animation" => format!("animation = \"{value}\""),
                key => format!("{key} = {of_file}"),
            };
            assert_eq!(OptionSet::parse(&text).expect(&text).general, said, "{text}");
        }
    }

    #[test]
    fn wrong_values_are_refused_with_what_to_give() {
        let refused = |line: &[&str]| {
            let command = ContentOptions::augment_args(Command::new("test"));
            command.try_get_matches_from([&["test"], line].concat()).unwrap_err().to_string()
        };
        assert!(
            refused(&["--effort", "12"])
                .contains("invalid value '12' for '--effort <N>': 12 is not in 1..=9")
        );
        assert!(refused(&["--fps", "0"]).contains("for '--fps <F>': '0' is no frame rate"));
        assert!(refused(&["--strip", "--short-source-map"]).contains("cannot be used with"));
        assert!(refused(&["--fps", "1", "--fps", "2"]).contains("cannot be used multiple times"));
    }
}
