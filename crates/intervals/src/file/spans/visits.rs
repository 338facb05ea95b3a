//! Walks JSON that does not fit in memory: arrays element by element, objects field by field.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Takes one value.
pub(super) trait Take {
    /// # Errors
    /// Those of the deserializer.
    fn take<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<(), D::Error>;
}

/// Takes the fields of an object; it must take each one's value.
pub(super) trait Fields {
    /// # Errors
    /// Those of the deserializer.
    fn field<'de, M: MapAccess<'de>>(&mut self, name: &str, map: &mut M) -> Result<(), M::Error>;
}

struct One<'a, T>(&'a mut T);

/// An array; `T` takes each element. `null` is an empty one.
pub(super) struct Array<'a, T>(pub(super) &'a mut T);

/// An object; `T` takes each field. `null` is an empty one.
pub(super) struct Object<'a, T>(pub(super) &'a mut T);

impl<'de, T: Take> DeserializeSeed<'de> for One<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.0.take(from)
    }
}

impl<'de, T: Take> DeserializeSeed<'de> for Array<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: Take> Visitor<'de> for Array<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut elements: S) -> Result<(), S::Error> {
        while elements.next_element_seed(One(&mut *self.0))?.is_some() {}
        Ok(())
    }
}

impl<'de, T: Fields> DeserializeSeed<'de> for Object<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: Fields> Visitor<'de> for Object<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(name) = map.next_key::<String>()? {
            self.0.field(&name, &mut map)?;
        }
        Ok(())
    }
}
