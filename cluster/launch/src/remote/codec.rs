//! Numbers and byte strings in a row of bytes, read back with every length checked.

/// Builds a row of bytes.
#[derive(Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// One byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    /// Four bytes, the least first.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// A length and that many bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        // Nothing that long is ever sent: frames are far shorter.
        self.u32(bytes.len() as u32).0.extend_from_slice(bytes);
        self
    }

    /// A number of items and the items.
    pub fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) -> &mut Self {
        self.u32(items.len() as u32);
        for each in items {
            item(self, each);
        }
        self
    }
}

/// What is wrong with bytes that came from outside.
pub type Fault = String;

/// Takes a row of bytes apart.
#[derive(Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads these bytes from the start.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        if count > self.0.len() {
            return Err(format!("{count} bytes announced, {} are there", self.0.len()));
        }
        let (first, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(first)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, Fault> {
        Ok(self.take(1)?[0])
    }

    /// A byte that is 0 or 1.
    pub fn flag(&mut self) -> Result<bool, Fault> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(format!("{other} where 0 or 1 was expected")),
        }
    }

    /// Four bytes, the least first.
    pub fn u32(&mut self) -> Result<u32, Fault> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A length and that many bytes.
    pub fn bytes(&mut self) -> Result<&'a [u8], Fault> {
        let length = self.u32()? as usize;
        self.take(length)
    }

    /// A length and that many bytes of text.
    pub fn text(&mut self) -> Result<String, Fault> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| "a text is not UTF-8".to_string())
    }

    /// A number of items and the items.
    pub fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let count = self.u32()? as usize;
        // Every item takes at least a byte.
        if count > self.0.len() {
            return Err(format!("{count} items announced in {} bytes", self.0.len()));
        }
        (0..count).map(|_| item(self)).collect()
    }

    /// What is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Checks that nothing is left.
    pub fn end(&self) -> Result<(), Fault> {
        match self.0.len() {
            0 => Ok(()),
            left => Err(format!("{left} bytes too many")),
        }
    }
}
