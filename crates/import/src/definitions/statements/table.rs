//! The table of payloads that are lists of statements.

use timebase_schema::fields::{
    android_aflags as aflags, android_aflags_flag as flag, android_game_intervention_list as games,
    android_game_intervention_list_game_mode_info as mode,
    android_game_intervention_list_game_package_info as game, android_user_list as users,
    android_user_list_user_info as user, interrupt_info as interrupts,
    interrupt_info_interrupt_mapping as interrupt, packages_list as packages,
    packages_list_package_info as package, trace_packet as packet,
};
use timebase_schema::tables;

use super::line::{Column, Part, Says, Statement, Which};
use crate::output::Counter;

use Column::{Flag, Float, Has, In, Int, Long, Machine, Text, Ts, Word};

static PACKAGES_UNREAD: Counter = Counter::error(
    "packages_list_has_read_errors",
    "1 if the recorder could not read the list of packages to its end",
)
.recorded();
static PACKAGES_UNPARSED: Counter = Counter::error(
    "packages_list_has_parse_errors",
    "1 if the recorder did not understand a line of the list of packages",
)
.recorded();
static GAMES_UNREAD: Counter = Counter::error(
    "game_intervention_has_read_errors",
    "1 if the recorder could not read the list of games to its end",
)
.recorded();
static GAMES_UNPARSED: Counter = Counter::error(
    "game_intervention_has_parse_errors",
    "1 if the recorder did not understand a line of the list of games",
)
.recorded();
static USERS_FAILED: Counter =
    Counter::error("user_list_errors", "lists of users that the recorder could not read")
        .recorded();

const fn in_mode(is: u64) -> Part {
    Part { list: game::GAME_MODE_INFO, key: mode::MODE, is }
}

const STANDARD: Part = in_mode(1);
const PERFORMANCE: Part = in_mode(2);
const BATTERY: Part = in_mode(3);
const DOWNSCALE: &Column = &Float(mode::RESOLUTION_DOWNSCALE);
const USE_ANGLE: &Column = &Flag(mode::USE_ANGLE);
const FPS: &Column = &Float(mode::FPS);

/// The table (rules RT1 to RT4, RT7).
pub(super) static TABLE: &[Statement] = &[
    Statement {
        packet: packet::PACKAGES_LIST,
        each: packages::PACKAGES,
        needs: &[],
        which: Which::First(package::NAME),
        table: &tables::package_list::TABLE,
        columns: &[
            Text(package::NAME),
            Long(package::UID),
            Flag(package::DEBUGGABLE),
            Flag(package::PROFILEABLE_FROM_SHELL),
            Long(package::VERSION_CODE),
        ],
        says: &[
            (packages::READ_ERROR, Says::IsSet, &PACKAGES_UNREAD),
            (packages::PARSE_ERROR, Says::IsSet, &PACKAGES_UNPARSED),
        ],
    },
    Statement {
        packet: packet::ANDROID_GAME_INTERVENTION_LIST,
        each: games::GAME_PACKAGES,
        needs: &[],
        which: Which::Each,
        table: &tables::android_game_intervention_list::TABLE,
        columns: &[
            Text(game::NAME),
            Long(game::UID),
            Int(game::CURRENT_MODE),
            Has(STANDARD),
            In(STANDARD, DOWNSCALE),
            In(STANDARD, USE_ANGLE),
            In(STANDARD, FPS),
            Has(PERFORMANCE),
            In(PERFORMANCE, DOWNSCALE),
            In(PERFORMANCE, USE_ANGLE),
            In(PERFORMANCE, FPS),
            Has(BATTERY),
            In(BATTERY, DOWNSCALE),
            In(BATTERY, USE_ANGLE),
            In(BATTERY, FPS),
        ],
        says: &[
            (games::READ_ERROR, Says::IsSet, &GAMES_UNREAD),
            (games::PARSE_ERROR, Says::IsSet, &GAMES_UNPARSED),
        ],
    },
    Statement {
        packet: packet::USER_LIST,
        each: users::USERS,
        needs: &[],
        which: Which::Last(user::UID),
        table: &tables::android_user_list::TABLE,
        columns: &[Text(user::TYPE), Int(user::UID)],
        says: &[(users::ERROR, Says::IsNegative, &USERS_FAILED)],
    },
    Statement {
        packet: packet::INTERRUPT_INFO,
        each: interrupts::IRQ_MAPPING,
        needs: &[interrupt::IRQ_ID, interrupt::NAME],
        which: Which::First(interrupt::IRQ_ID),
        table: &tables::linux_interrupt_mapping::TABLE,
        columns: &[Long(interrupt::IRQ_ID), Text(interrupt::NAME), Machine],
        says: &[],
    },
    Statement {
        packet: packet::ANDROID_AFLAGS,
        each: aflags::FLAGS,
        needs: &[],
        which: Which::Each,
        table: &tables::android_aflags::TABLE,
        columns: &[
            Ts,
            Text(flag::PKG),
            Text(flag::NAME),
            Text(flag::FLAG_NAMESPACE),
            Text(flag::CONTAINER),
            Text(flag::VALUE),
            Text(flag::STAGED_VALUE),
            Word(flag::PERMISSION, &["read-only", "read-write"]),
            Word(flag::VALUE_PICKED_FROM, &["default", "server", "local"]),
            Word(flag::STORAGE_BACKEND, &["none", "aconfigd", "device_config"]),
            Word(flag::TYPE, &["boolean", "integer"]),
        ],
        says: &[],
    },
];
