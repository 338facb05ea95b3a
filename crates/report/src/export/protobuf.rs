//! Just enough of protobuf's wire format to write it. <https://protobuf.dev/programming-guides/encoding/>

/// A message in the making. Fields of other types than these are not needed here.
#[derive(Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    pub(super) fn uint(mut self, field: u32, value: u64) -> Message {
        self.key(field, 0);
        self.varint(value);
        self
    }

    pub(super) fn double(self, field: u32, value: f64) -> Message {
        self.fixed(field, value.to_bits())
    }

    pub(super) fn fixed(mut self, field: u32, value: u64) -> Message {
        self.key(field, 1);
        self.bytes.extend(value.to_le_bytes());
        self
    }

    pub(super) fn text(self, field: u32, value: &str) -> Message {
        self.bytes_of(field, value.as_bytes())
    }

    pub(super) fn message(self, field: u32, value: &Message) -> Message {
        self.bytes_of(field, &value.bytes)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn bytes_of(mut self, field: u32, value: &[u8]) -> Message {
        self.key(field, 2);
        self.varint(value.len() as u64);
        self.bytes.extend(value);
        self
    }

    fn key(&mut self, field: u32, wire_type: u32) {
        self.varint(u64::from(field << 3 | wire_type));
    }

    /// Seven bits per byte, lowest first; the top bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push((value & 0x7f) as u8);
    }
}

#[cfg(test)]
mod tests;
