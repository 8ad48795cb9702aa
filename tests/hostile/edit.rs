//! Changes to a value in a JSON document.

use serde_json::{Value, json};

/// The scalar field's modulus, little-endian: the smallest 32 bytes that are no field element.
const MODULUS: &str = "01000000fffffffffe5bfeff02a4bd5305d8a10908d83933487d9d2953a7ed73";

/// What happens to the value at a place.
#[derive(Clone, Debug)]
pub enum Edit {
    /// Another value.
    Set(Value),
    /// The lowest bit of a number is flipped.
    Flip,
    /// 32 bytes become the scalar field's modulus.
    Modulus,
    /// An array loses its last element.
    Pop,
    /// An array's last element is repeated.
    Repeat,
    /// The first two elements of an array change places.
    Swap,
    /// The key and its value go.
    Remove,
    /// The key is called something else.
    Rename(&'static str),
}

impl Edit {
    /// Changes the value at the JSON pointer `place`.
    pub fn apply(&self, document: &mut Value, place: &str) {
        match self {
            Self::Set(value) => *at(document, place) = value.clone(),
            Self::Flip => {
                let number = at(document, place);
                *number = json!(number.as_u64().expect("a number") ^ 1);
            }
            Self::Modulus => {
                *at(document, place) = json!(hex::decode(MODULUS).expect("hexadecimal"));
            }
            Self::Pop => drop(array(document, place).pop()),
            Self::Repeat => {
                let array = array(document, place);
                array.push(array.last().expect("no array of a C1 is empty").clone());
            }
            Self::Swap => array(document, place).swap(0, 1),
            Self::Remove => drop(take(document, place)),
            Self::Rename(to) => {
                let value = take(document, place);
                let (parent, _) = place.rsplit_once('/').expect("a pointer to a key");
                at(document, parent)[to] = value;
            }
        }
    }
}

fn at<'a>(document: &'a mut Value, place: &str) -> &'a mut Value {
    document.pointer_mut(place).unwrap_or_else(|| panic!("{place} is in the file"))
}

fn array<'a>(document: &'a mut Value, place: &str) -> &'a mut Vec<Value> {
    at(document, place).as_array_mut().expect("an array")
}

fn take(document: &mut Value, place: &str) -> Value {
    let (parent, key) = place.rsplit_once('/').expect("a pointer to a key");
    at(document, parent).as_object_mut().and_then(|object| object.remove(key)).expect(place)
}
