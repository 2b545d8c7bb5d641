//! Transactions of SurfaceFlinger (rules WS8, WS9).

use rustc_hash::FxHashMap;
use timebase_schema::WinscopeTable;
use timebase_schema::fields::{
    display_state, layer_creation_args, layer_state, transaction_state as state,
    transaction_trace_entry as entry,
};

use super::TRANSACTIONS_ERROR;
use super::table::{Made, Named, Out, Statement};
use crate::arguments::Choice;
use crate::message::Message;
use crate::trackers::tracker::TrackerContext;

const TRANSACTIONS: usize = WinscopeTable::number("surfaceflinger_transactions");
const TRANSACTION: usize = WinscopeTable::number("surfaceflinger_transaction");
const FLAG: usize = WinscopeTable::number("surfaceflinger_transaction_flag");

/// The arguments that a state has from its transaction.
const OF_TRANSACTION: Choice = Choice {
    without: &[],
    is_cut: false,
    only: &[state::APPLY_TOKEN, state::TRANSACTION_BARRIERS],
};

/// The low bits of a layer's `what`, and of a display's. One of them stands twice, as in trace processor.
const LAYER_FLAGS: &[(u32, &str)] = &[
    (0x1, "ePositionChanged"),
    (0x2, "eLayerChanged"),
    (0x8, "eAlphaChanged"),
    (0x10, "eMatrixChanged"),
    (0x20, "eTransparentRegionChanged"),
    (0x40, "eFlagsChanged"),
    (0x80, "eLayerStackChanged"),
    (0x400, "eReleaseBufferListenerChanged"),
    (0x800, "eShadowRadiusChanged"),
    (0x800, "eShadowRadiusChanged"),
    (0x2000, "eBufferCropChanged"),
    (0x4000, "eRelativeLayerChanged"),
    (0x8000, "eReparent"),
    (0x1_0000, "eColorChanged"),
    (0x4_0000, "eBufferTransformChanged"),
    (0x8_0000, "eTransformToDisplayInverseChanged"),
    (0x10_0000, "eCropChanged"),
    (0x20_0000, "eBufferChanged"),
    (0x40_0000, "eAcquireFenceChanged"),
    (0x80_0000, "eDataspaceChanged"),
    (0x100_0000, "eHdrMetadataChanged"),
    (0x200_0000, "eSurfaceDamageRegionChanged"),
    (0x400_0000, "eApiChanged"),
    (0x800_0000, "eSidebandStreamChanged"),
    (0x1000_0000, "eColorTransformChanged"),
    (0x2000_0000, "eHasListenerCallbacksChanged"),
    (0x4000_0000, "eInputInfoChanged"),
    (0x8000_0000, "eCornerRadiusChanged"),
];

/// The high bits of a layer's `what`.
const HIGH_LAYER_FLAGS: &[(u32, &str)] = &[
    (0x1, "eDestinationFrameChanged"),
    (0x2, "eCachedBufferChanged"),
    (0x4, "eBackgroundColorChanged"),
    (0x8, "eMetadataChanged"),
    (0x10, "eColorSpaceAgnosticChanged"),
    (0x20, "eFrameRateSelectionPriority"),
    (0x40, "eFrameRateChanged"),
    (0x80, "eBackgroundBlurRadiusChanged"),
    (0x100, "eProducerDisconnect"),
    (0x200, "eFixedTransformHintChanged"),
    (0x400, "eFrameNumberChanged"),
    (0x800, "eBlurRegionsChanged"),
    (0x1000, "eAutoRefreshChanged"),
    (0x2000, "eStretchChanged"),
    (0x4000, "eTrustedOverlayChanged"),
    (0x8000, "eDropInputModeChanged"),
];

const DISPLAY_FLAGS: &[(u32, &str)] = &[
    (0x1, "eSurfaceChanged"),
    (0x2, "eLayerStackChanged"),
    (0x4, "eDisplayProjectionChanged"),
    (0x8, "eDisplaySizeChanged"),
    (0x10, "eFlagsChanged"),
];

/// Whose state a transaction changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Of {
    Layer,
    Display,
}

/// The numbers of the sets of flags that were met.
#[derive(Debug, Default)]
pub(super) struct Flags(FxHashMap<(Of, u64), i64>);

impl Flags {
    /// The number of a set of flags, which are rows when it is first met.
    fn number(&mut self, of: Of, what: u64, out: &mut Out, at: &mut TrackerContext<'_, '_>) -> i64 {
        let next = i64::try_from(self.0.len()).unwrap_or(i64::MAX);
        if let Some(known) = self.0.get(&(of, what)) {
            return *known;
        }
        self.0.insert((of, what), next);
        let low = match of {
            Of::Layer => LAYER_FLAGS,
            Of::Display => DISPLAY_FLAGS,
        };
        let high = if of == Of::Layer { HIGH_LAYER_FLAGS } else { Default::default() };
        let is_set = |bits: u32| move |(flag, _): &&(u32, &str)| bits & flag != 0;
        let set = low.iter().filter(is_set(what as u32));
        for (_, name) in set.chain(high.iter().filter(is_set((what >> 32) as u32))) {
            let made = [Made::Int(next), Made::Text(name)];
            out.row((FLAG, &[]), Named::default(), &made, at);
        }
        next
    }
}

/// A row of a transaction.
#[derive(Debug, Clone, Copy, Default)]
struct Change<'a> {
    what: &'static str,
    /// The transaction with its number, pid and uid.
    of: Option<(Message<'a>, [i64; 3])>,
    layer: Option<u32>,
    display: Option<u32>,
    flags: Option<i64>,
    /// The message of its arguments.
    state: Option<(&'static str, &'a [u8])>,
}

/// Writes transactions.
pub(super) struct Writer<'w, 'a> {
    pub flags: &'w mut Flags,
    pub out: &'w mut Out,
    pub statement: &'w Statement<'a>,
    /// The number of the row of all transactions.
    snapshot: i64,
}

impl<'w, 'a> Writer<'w, 'a> {
    pub fn new(flags: &'w mut Flags, out: &'w mut Out, statement: &'w Statement<'a>) -> Self {
        Writer { flags, out, statement, snapshot: 0 }
    }

    /// Writes the rows of a `TransactionTraceEntry`.
    pub fn write(&mut self, bytes: &'a [u8], at: &mut TrackerContext<'_, '_>) {
        let (snapshot, is_whole) = self.out.payload(TRANSACTIONS, bytes, self.statement, &[], at);
        self.snapshot = snapshot;
        if !is_whole {
            at.world.faults.add(TRANSACTIONS_ERROR, self.statement.packet);
        }
        let message = Message(bytes);
        for transaction in message.messages(entry::TRANSACTIONS) {
            self.transaction(transaction, at);
        }
        for added in message.each(entry::ADDED_LAYERS) {
            let layer = Message(added).small(layer_creation_args::LAYER_ID).unwrap_or(0);
            let state = Some(("LayerCreationArgs", added));
            self.change(
                Change { what: "LAYER_ADDED", layer: Some(layer), state, ..Change::default() },
                at,
            );
        }
        for layer in message.numbers(entry::DESTROYED_LAYERS) {
            let layer = Some(layer as u32);
            self.change(Change { what: "LAYER_DESTROYED", layer, ..Change::default() }, at);
        }
        for added in message.each(entry::ADDED_DISPLAYS) {
            self.display("DISPLAY_ADDED", added, None, at);
        }
        for display in message.numbers(entry::REMOVED_DISPLAYS) {
            let display = Some(display as u32);
            self.change(Change { what: "DISPLAY_REMOVED", display, ..Change::default() }, at);
        }
        for layer in message.numbers(entry::DESTROYED_LAYER_HANDLES) {
            let layer = Some(layer as u32);
            self.change(Change { what: "LAYER_HANDLE_DESTROYED", layer, ..Change::default() }, at);
        }
    }

    fn transaction(&mut self, of: Message<'a>, at: &mut TrackerContext<'_, '_>) {
        let id = of.number(state::TRANSACTION_ID).unwrap_or(0).cast_signed();
        let small = |field| i64::from(of.small(field).unwrap_or(0));
        let of = (of, [id, small(state::PID), small(state::UID)]);
        let mut is_empty = true;
        for changed in of.0.each(state::LAYER_CHANGES) {
            is_empty = false;
            let stated = Message(changed);
            let what = stated.number(layer_state::WHAT);
            let flags = what.map(|what| self.flags.number(Of::Layer, what, self.out, at));
            let change = Change {
                what: "LAYER_CHANGED",
                of: Some(of),
                layer: Some(stated.small(layer_state::LAYER_ID).unwrap_or(0)),
                flags,
                state: Some(("LayerState", changed)),
                ..Change::default()
            };
            self.change(change, at);
        }
        for changed in of.0.each(state::DISPLAY_CHANGES) {
            is_empty = false;
            self.display("DISPLAY_CHANGED", changed, Some(of), at);
        }
        if is_empty {
            self.change(Change { what: "NOOP", of: Some(of), ..Change::default() }, at);
        }
    }

    fn display(
        &mut self,
        what: &'static str,
        changed: &'a [u8],
        of: Option<(Message<'a>, [i64; 3])>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let stated = Message(changed);
        let bits = stated.small(display_state::WHAT);
        let flags = bits.map(|bits| self.flags.number(Of::Display, bits.into(), self.out, at));
        let display = Some(stated.small(display_state::ID).unwrap_or(0));
        let state = Some(("DisplayState", changed));
        self.change(Change { what, of, display, flags, state, layer: None }, at);
    }

    fn change(&mut self, change: Change<'_>, at: &mut TrackerContext<'_, '_>) {
        let mut named = Named::default();
        if let Some((message, bytes)) = change.state {
            self.out.args.clear();
            if !self.out.add_arguments(message, bytes, Choice::default(), at) {
                at.world.faults.add(TRANSACTIONS_ERROR, self.statement.packet);
            }
            if let Some((of, _)) = change.of {
                self.out.add_arguments("TransactionState", of.0, OF_TRANSACTION, at);
            }
            named.arg_set = self.out.arg_set(at);
            let whose = (self.statement, named.arg_set);
            named.proto = Some(self.out.proto(TRANSACTION, bytes, whose, at));
        }
        let [id, pid, uid] =
            change.of.map_or([Made::Null; 3], |(_, numbers)| numbers.map(Made::Int));
        let made = [
            Made::Int(self.snapshot),
            id,
            pid,
            uid,
            Made::maybe(change.layer.map(Into::into)),
            Made::maybe(change.display.map(Into::into)),
            Made::maybe(change.flags),
            Made::Text(change.what),
        ];
        self.out.row((TRANSACTION, &[]), named, &made, at);
    }
}
