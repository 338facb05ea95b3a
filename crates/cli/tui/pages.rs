//! The models of the pages: what each shows and where one stands on it. They yield their lines, for the screen and for whoever
//! counts or searches them; where those go on the screen is `draw`'s.

pub(super) mod ask;
pub(super) mod beside;
pub(super) mod call_list;
pub(super) mod commands;
pub(super) mod cursor;
pub(super) mod explained;
pub(super) mod extent;
pub(super) mod flow;
pub(super) mod flow_list;
pub(super) mod header;
pub(super) mod interval_table;
pub(super) mod intervals;
pub(super) mod keys;
pub(super) mod lanes;
pub(super) mod layout;
pub(super) mod listing;
pub(super) mod made_of;
pub(super) mod nesting;
pub(super) mod overlay;
pub(super) mod overview;
pub(super) mod page;
pub(super) mod painted;
pub(super) mod pieces;
pub(super) mod reading;
pub(super) mod segments;
pub(super) mod stretch;
pub(super) mod text;
pub(super) mod view;
