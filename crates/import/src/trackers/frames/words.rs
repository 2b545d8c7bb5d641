//! The words of frame timelines in arguments: for present types, jank types and others (rules FT5,
//! FT6).

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum FrameKind {
    Display,
    Surface,
}

const PRESENT: [&str; 6] = [
    "Unspecified Present",
    "On-time Present",
    "Late Present",
    "Early Present",
    "Dropped Frame",
    "Unknown Present",
];

const PREDICTION: [&str; 4] =
    ["Unspecified Prediction", "Valid Prediction", "Expired Prediction", "Unknown Prediction"];

const SEVERITY: [&str; 4] = ["Unknown", "None", "Partial", "Full"];

const LATCHED: [&str; 4] =
    ["Unknown", "Latched Signaled", "Latched Unsignaled", "Delayed Latch Fence Unsignaled"];

/// The word for a number, and whether the number is there but has no word.
fn word(words: &[&'static str], number: Option<u32>) -> (&'static str, bool) {
    let first = words.first().copied().unwrap_or_default();
    let Some(number) = number else {
        return (first, false);
    };
    let known = usize::try_from(number).ok().filter(|&number| number > 0);
    match known.and_then(|number| words.get(number)) {
        Some(word) => (word, false),
        None => (first, true),
    }
}

/// The word for the presentation of a frame, and whether it is a fault.
pub(super) fn present(number: Option<u32>) -> (&'static str, bool) {
    word(&PRESENT, number)
}

/// The word for the prediction of a frame, and whether it is a fault.
pub(super) fn prediction(number: Option<u32>) -> (&'static str, bool) {
    word(&PREDICTION, number)
}

/// The word for the severity of a frame's jank. A frame without jank may leave the number out.
pub(super) fn severity(number: Option<u32>, jank: u32) -> &'static str {
    match number {
        None if jank == jank::NONE => "None",
        number => word(&SEVERITY, number).0,
    }
}

/// The state of the fence when the frame was latched.
pub(super) fn latched(number: u32) -> &'static str {
    word(&LATCHED, Some(number)).0
}

/// Bits of a jank type.
mod jank {
    pub const UNSPECIFIED: u32 = 0;
    pub const NONE: u32 = 1;
    pub const SF_SCHEDULING: u32 = 1 << 1;
    pub const PREDICTION: u32 = 1 << 2;
    pub const DISPLAY_HAL: u32 = 1 << 3;
    pub const SF_CPU: u32 = 1 << 4;
    pub const SF_GPU: u32 = 1 << 5;
    pub const APP: u32 = 1 << 6;
    pub const BUFFER_STUFFING: u32 = 1 << 7;
    pub const UNKNOWN: u32 = 1 << 8;
    pub const SF_STUFFING: u32 = 1 << 9;
    pub const DROPPED: u32 = 1 << 10;
    pub const NON_ANIMATING: u32 = 1 << 11;
    pub const APP_RESYNCED: u32 = 1 << 12;
    pub const DISPLAY_NOT_ON: u32 = 1 << 13;
    pub const MODE_CHANGE: u32 = 1 << 14;
    pub const POWER_MODE_CHANGE: u32 = 1 << 15;
}

/// The words for the bits, in order.
const JANK: [(u32, &str); 15] = [
    (jank::SF_SCHEDULING, "SurfaceFlinger Scheduling"),
    (jank::PREDICTION, "Prediction Error"),
    (jank::DISPLAY_HAL, "Display HAL"),
    (jank::SF_CPU, "SurfaceFlinger CPU Deadline Missed"),
    (jank::SF_GPU, "SurfaceFlinger GPU Deadline Missed"),
    (jank::APP, "App Deadline Missed"),
    (jank::APP_RESYNCED, "App Resynced Jitter"),
    (jank::BUFFER_STUFFING, "Buffer Stuffing"),
    (jank::UNKNOWN, "Unknown Jank"),
    (jank::SF_STUFFING, "SurfaceFlinger Stuffing"),
    (jank::DROPPED, "Dropped Frame"),
    (jank::NON_ANIMATING, "Non Animating"),
    (jank::DISPLAY_NOT_ON, "Display not ON"),
    (jank::MODE_CHANGE, "ModeChange in progress"),
    (jank::POWER_MODE_CHANGE, "PowerModeChange in progress"),
];

/// Puts the words of a jank type into `text` (rule FT6).
pub(super) fn put_jank(text: &mut String, jank: u32) {
    text.clear();
    match jank {
        jank::UNSPECIFIED => text.push_str("Unspecified"),
        jank::NONE => text.push_str("None"),
        jank => {
            for (_, word) in JANK.iter().filter(|(bit, _)| jank & bit != 0) {
                if !text.is_empty() {
                    text.push_str(", ");
                }
                text.push_str(word);
            }
        }
    }
}

/// The cause of a frame's jank, in a word (rule FT6).
pub(super) fn tag(of: FrameKind, jank: u32, present: Option<u32>) -> &'static str {
    const OF_APP: u32 = jank::APP | jank::UNKNOWN | jank::APP_RESYNCED;
    const OF_DISPLAY: u32 =
        jank::SF_SCHEDULING | jank::PREDICTION | jank::DISPLAY_HAL | jank::SF_CPU | jank::SF_GPU;
    const PRESENT_DROPPED: u32 = 4;
    let is_surface = of == FrameKind::Surface;
    let is_dropped = match of {
        FrameKind::Display => jank == jank::DROPPED,
        FrameKind::Surface => present == Some(PRESENT_DROPPED),
    };
    match jank {
        jank::UNSPECIFIED => "Unspecified",
        jank if is_surface && jank & OF_APP != 0 => "Self Jank",
        jank if jank & OF_DISPLAY != 0 => match of {
            FrameKind::Display => "Self Jank",
            FrameKind::Surface => "Other Jank",
        },
        jank::BUFFER_STUFFING if is_surface => "Buffer Stuffing",
        jank::SF_STUFFING => "SurfaceFlinger Stuffing",
        _ if is_dropped => "Dropped Frame",
        jank::NON_ANIMATING | jank::DISPLAY_NOT_ON | jank::POWER_MODE_CHANGE => {
            "Non-perceivable Jank"
        }
        _ => "No Jank",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jank_of(jank: u32) -> String {
        let mut text = "before".to_owned();
        put_jank(&mut text, jank);
        text
    }

    #[test]
    fn ft6_bits_are_words_in_their_order() {
        assert_eq!(jank_of(0), "Unspecified");
        assert_eq!(jank_of(1), "None");
        assert_eq!(jank_of(3), "SurfaceFlinger Scheduling");
        assert_eq!(
            jank_of(128 + 4096 + 64),
            "App Deadline Missed, App Resynced Jitter, Buffer Stuffing"
        );
        assert_eq!(jank_of(1 << 16), "");
        assert_eq!(jank_of(u32::MAX).split(", ").count(), JANK.len());
    }

    #[test]
    fn ft6_the_first_tag_that_fits_counts() {
        let surface = |jank| tag(FrameKind::Surface, jank, None);
        let display = |jank| tag(FrameKind::Display, jank, Some(4));
        assert_eq!((surface(0), display(0)), ("Unspecified", "Unspecified"));
        assert_eq!((surface(64 + 2), display(64 + 2)), ("Self Jank", "Self Jank"));
        assert_eq!((surface(4096), display(4096)), ("Self Jank", "No Jank"));
        assert_eq!((surface(16 + 512), display(32)), ("Other Jank", "Self Jank"));
        assert_eq!((surface(128), display(128)), ("Buffer Stuffing", "No Jank"));
        assert_eq!(surface(128 + 512), "No Jank");
        let stuffing = "SurfaceFlinger Stuffing";
        assert_eq!((surface(512), display(512)), (stuffing, stuffing));
        assert_eq!((surface(1024), display(1024)), ("No Jank", "Dropped Frame"));
        assert_eq!(display(1024 + 1), "No Jank");
        let dropped = |jank| tag(FrameKind::Surface, jank, Some(4));
        assert_eq!((dropped(1), dropped(2048)), ("Dropped Frame", "Dropped Frame"));
        assert_eq!((dropped(128), dropped(0)), ("Buffer Stuffing", "Unspecified"));
        for jank in [2048, 8192, 32768] {
            assert_eq!(surface(jank), "Non-perceivable Jank");
        }
        assert_eq!((surface(16384), surface(1)), ("No Jank", "No Jank"));
    }

    #[test]
    fn ft5_a_number_without_a_word_is_a_fault_where_it_counts() {
        assert_eq!(present(None), ("Unspecified Present", false));
        assert_eq!(present(Some(0)), ("Unspecified Present", true));
        assert_eq!(present(Some(5)), ("Unknown Present", false));
        assert_eq!(present(Some(6)), ("Unspecified Present", true));
        assert_eq!(prediction(Some(u32::MAX)), ("Unspecified Prediction", true));
        assert_eq!((severity(None, 1), severity(None, 2)), ("None", "Unknown"));
        assert_eq!((severity(Some(0), 1), severity(Some(4), 1)), ("Unknown", "Unknown"));
        assert_eq!(severity(Some(3), 1), "Full");
        assert_eq!((latched(2), latched(4)), ("Latched Unsignaled", "Unknown"));
    }
}
