//! How a table of the config is declared: once, as a struct whose fields are its
//! keys.
//!
//! [`settings_tables`] makes of such a declaration the struct, the code that
//! reads it, and its part of [`KEYS`](super::keys::KEYS), from which the checks
//! of the file, the variables and the reference page come. A field's doc comment
//! is what the page says about its key, and its type decides which values the
//! key takes.
//!
//! Why not serde: a derived `Deserialize` gives up at the first mistake of a
//! table, knows one layer, and can't say which keys there are, nor what they do.

use std::path::PathBuf;
use std::time::Duration;

use super::choices::NamedChoice;
use super::keys::KeyKind;
use super::setting::LayerSetting;
use super::settings::PlacedValue;
use super::value::SettingValue;

/// Declares tables of the config. Each is
///
/// ```text
/// /// `[table]`: what it is.
/// ///
/// /// What the reference page says above its keys, if anything.
/// pub struct TableSettings: Eq in "table." given { /* fields that are no keys */ } {
///     /// What the reference page says about the key.
///     field: Type = default("value").example("other value");
/// }
/// ```
///
/// where what follows `=` are calls of [`ConfigKey`](super::keys::ConfigKey)'s
/// builder. `read` takes the values of the `given` fields after the names that
/// the placeholders of the path stand for. Last comes the table whose key has a
/// name that people choose.
macro_rules! settings_tables {
    ($(
        #[doc = $title:literal] $(#[doc = $about:literal])*
        $vis:vis struct $name:ident $(: $($derive:ident),+)? in $prefix:literal
        $(given { $($(#[doc = $given_doc:literal])+ $given:ident: $given_type:ty,)+ })? {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $($method:ident($($argument:tt)*)).+;
            )+
        }
    )+
    $(
        free {
            $(#[doc = $free_about:literal])+
            in $free_prefix:literal {
                $(#[doc = $free_doc:literal])+
                $free:literal: $free_type:ty = $($free_method:ident($($free_argument:tt)*)).+;
            }
        }
    )+
    ) => {
        $(
            #[doc = $title] $(#[doc = $about])*
            #[derive(Debug, Clone, PartialEq $($(, $derive)+)?)]
            $vis struct $name {
                $($($(#[doc = $given_doc])+ $vis $given: $given_type,)+)?
                $($(#[doc = $doc])+ $vis $field: $type,)+
            }

            impl $name {
                /// Reads every key before it gives up, so that all problems are found.
                pub(super) fn read(
                    resolver: &mut SettingsResolver<'_>,
                    names: &[&str],
                    $($($given: $given_type,)+)?
                ) -> Option<Self> {
                    $(let $field = resolver.read(concat!($prefix, stringify!($field)), names);)+
                    Some($name { $($($given,)+)? $($field: $field?,)+ })
                }
            }
        )+

        /// All keys, table by table.
        pub static KEYS: &[ConfigKey] = &[
            $($(
                ConfigKey::new(concat!($prefix, stringify!($field)), <$type as SettingType>::KIND)
                    .doc(concat!($($doc),+))
                    $(.$method($($argument)*))+,
            )+)+
            $(ConfigKey::new(concat!($free_prefix, $free), <$free_type as SettingType>::KIND)
                .doc(concat!($($free_doc),+))
                $(.$free_method($($free_argument)*))+,)+
        ];

        /// What the reference page says about each table, by the start of its keys' paths.
        pub(super) static ABOUT_TABLES: &[(&str, &str)] = &[
            $(($prefix, concat!($($about),*)),)+
            $(($free_prefix, concat!($($free_about),+)),)+
        ];
    };
}
pub(super) use settings_tables;

/// A type that a setting can have.
pub(super) trait SettingType: Sized {
    /// The values that a key of this type takes, unless its declaration says more.
    const KIND: KeyKind;

    /// What holds when the key is neither set nor has a default value; `None`
    /// where that is a problem.
    const UNSET: Option<Self> = None;

    /// The setting's value; `None` for one that was refused.
    fn from_setting(setting: LayerSetting) -> Option<Self>;
}

macro_rules! setting_types {
    ($($type:ty = $kind:expr, $unset:expr, $($value:pat => $typed:expr),+;)+) => {$(
        impl SettingType for $type {
            const KIND: KeyKind = $kind;
            const UNSET: Option<Self> = $unset;

            fn from_setting(setting: LayerSetting) -> Option<Self> {
                match setting.value? {
                    $($value => Some($typed),)+
                    _ => None,
                }
            }
        }
    )+};
}

const ANY_INTEGER: KeyKind = KeyKind::Integer { min: 0, max: u32::MAX };

setting_types! {
    String = KeyKind::Text, None,
        SettingValue::Text(text) => text,
        SettingValue::Path(path) => path.to_string_lossy().into_owned();
    bool = KeyKind::Bool, Some(false), SettingValue::Bool(value) => value;
    u32 = ANY_INTEGER, None, SettingValue::Integer(value) => value;
    Duration = ANY_INTEGER, None,
        SettingValue::Integer(seconds) => Duration::from_secs(seconds.into());
    f64 = KeyKind::Float { min: 0.0, max: 1.0 }, None, SettingValue::Float(value) => value;
    PathBuf = KeyKind::Path, None, SettingValue::Path(path) => path;
    Vec<String> = KeyKind::TextList, Some(Vec::new()), SettingValue::List(items) => items;
    Vec<PathBuf> = KeyKind::PathList, Some(Vec::new()), SettingValue::Paths(paths) => paths;
}

impl<T: NamedChoice> SettingType for T {
    const KIND: KeyKind = KeyKind::Choice(T::NAMES);

    fn from_setting(setting: LayerSetting) -> Option<Self> {
        T::from_name(&String::from_setting(setting)?)
    }
}

/// A key that need not hold anything.
impl<T: SettingType> SettingType for Option<T> {
    const KIND: KeyKind = T::KIND;
    const UNSET: Option<Self> = Some(None);

    fn from_setting(setting: LayerSetting) -> Option<Self> {
        Some(T::from_setting(setting))
    }
}

impl<T: SettingType> SettingType for PlacedValue<T> {
    const KIND: KeyKind = T::KIND;

    fn from_setting(setting: LayerSetting) -> Option<Self> {
        let (place, spelled) = (setting.origin.clone()?, setting.spelled.to_string());
        Some(PlacedValue { value: T::from_setting(setting)?, place, spelled })
    }
}
