//! How what tasks and the virtual machine say to each other becomes bytes.

/// A value that has a form in bytes. Reading checks: what the other side wrote is an allegation.
pub trait Wire: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn get(input: &mut &[u8]) -> Option<Self>;
}

/// Longest frame: a message in the mailbox together with its name, or the environment of a task.
pub const FRAME_BYTES_MAX: usize = 1 << 30;

impl Wire for i32 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
    fn get(input: &mut &[u8]) -> Option<i32> {
        let (bytes, rest) = input.split_first_chunk()?;
        *input = rest;
        Some(i32::from_le_bytes(*bytes))
    }
}

impl Wire for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
    fn get(input: &mut &[u8]) -> Option<i64> {
        let (bytes, rest) = input.split_first_chunk()?;
        *input = rest;
        Some(i64::from_le_bytes(*bytes))
    }
}

impl Wire for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
    fn get(input: &mut &[u8]) -> Option<u8> {
        let (first, rest) = input.split_first()?;
        *input = rest;
        Some(*first)
    }
}

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn get(input: &mut &[u8]) -> Option<bool> {
        Some(u8::get(input)? != 0)
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as i32).put(out);
        self.iter().for_each(|item| item.put(out));
    }
    fn get(input: &mut &[u8]) -> Option<Vec<T>> {
        let len = usize::try_from(i32::get(input)?).ok()?;
        // Each item has a byte at least, so nobody makes us reserve more than was sent.
        let mut items = Vec::with_capacity(len.min(input.len()));
        for _ in 0..len {
            items.push(T::get(input)?);
        }
        Some(items)
    }
}

/// Bytes that are not looked at one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Wire for Bytes {
    fn put(&self, out: &mut Vec<u8>) {
        (self.0.len() as i64).put(out);
        out.extend_from_slice(&self.0);
    }
    fn get(input: &mut &[u8]) -> Option<Bytes> {
        let len = usize::try_from(i64::get(input)?).ok()?;
        let (bytes, rest) = input.split_at_checked(len)?;
        *input = rest;
        Some(Bytes(bytes.to_vec()))
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as i32).put(out);
        out.extend_from_slice(self.as_bytes());
    }
    fn get(input: &mut &[u8]) -> Option<String> {
        let len = usize::try_from(i32::get(input)?).ok()?;
        let (bytes, rest) = input.split_at_checked(len)?;
        *input = rest;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// Gives structures and enumerations their form: fields in order, enumerations with a number in front.
macro_rules! wire {
    ($($(#[$m:meta])* pub struct $name:ident { $($(#[$fm:meta])* pub $field:ident : $type:ty),* $(,)? })*) => {$(
        $(#[$m])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name { $($(#[$fm])* pub $field: $type),* }
        impl $crate::wire::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) { $(self.$field.put(out);)* }
            fn get(input: &mut &[u8]) -> Option<Self> {
                Some($name { $($field: <$type as $crate::wire::Wire>::get(input)?),* })
            }
        }
    )*};
    (@enum $(#[$m:meta])* pub enum $name:ident { $($(#[$vm:meta])* $variant:ident ($($field:ident : $type:ty),*) = $number:literal),* $(,)? }) => {
        $(#[$m])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$vm])* $variant { $($field: $type),* }),* }
        impl $crate::wire::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self { $($name::$variant { $($field),* } => { out.push($number); $($field.put(out);)* })* }
            }
            fn get(input: &mut &[u8]) -> Option<Self> {
                Some(match u8::get(input)? {
                    $($number => $name::$variant { $($field: <$type as $crate::wire::Wire>::get(input)?),* },)*
                    _ => return None,
                })
            }
        }
    };
}
pub(crate) use wire;

/// A frame: the length of what follows, and the value.
pub fn frame(value: &impl Wire) -> Vec<u8> {
    let mut out = vec![0; 4];
    value.put(&mut out);
    let len = (out.len() - 4) as u32;
    out[..4].copy_from_slice(&len.to_le_bytes());
    out
}

/// The first frame in `input`, which is taken out. `Ok(None)`: it is not whole yet.
///
/// # Errors
/// It is longer than frames are, or not what it should be: what was found.
pub fn unframe<T: Wire>(input: &mut Vec<u8>) -> Result<Option<T>, String> {
    let Some((value, len)) = first_frame(input)? else { return Ok(None) };
    input.drain(..len);
    Ok(Some(value))
}

/// The first frame in `input`, and how long it is there.
///
/// # Errors
/// As [`unframe`].
pub fn first_frame<T: Wire>(input: &[u8]) -> Result<Option<(T, usize)>, String> {
    let Some((len, rest)) = input.split_first_chunk::<4>() else { return Ok(None) };
    let len = u32::from_le_bytes(*len) as usize;
    if len > FRAME_BYTES_MAX {
        return Err(format!("a frame of {len} bytes; expected at most {FRAME_BYTES_MAX}"));
    }
    let Some(mut bytes) = rest.get(..len) else { return Ok(None) };
    let value = T::get(&mut bytes).filter(|_| bytes.is_empty());
    let value = value.ok_or_else(|| format!("a frame of {len} bytes that says nothing known"))?;
    Ok(Some((value, 4 + len)))
}
