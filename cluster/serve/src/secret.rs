//! Random tokens and passwords. What is kept of them are hashes.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use sha2::{Digest, Sha256};

/// 256 random bits in hexadecimal.
pub fn token() -> Result<String, String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random bytes: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What is kept of a token. A plain hash is enough for 256 random bits.
pub fn hash_token(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}

/// What is kept of a password: argon2id with its salt and parameters. Takes some 20 ms.
pub fn hash_password(password: &str) -> Result<String, String> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|error| format!("argon2: {error}"))
}

/// Whether this is the password. Takes as long as [`hash_password`].
pub fn verify_password(password: &str, hash: &str) -> bool {
    PasswordHash::new(hash)
        .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_tokens() {
        let hash = hash_password("pässword").unwrap();
        assert!(hash.starts_with("$argon2id$"), "{hash}");
        assert_ne!(hash, hash_password("pässword").unwrap(), "salt");
        assert!(verify_password("pässword", &hash));
        assert!(!verify_password("password", &hash) && !verify_password("", &hash));
        assert!(!verify_password("x", "") && !verify_password("x", "$argon2id$"));
        let token = token().unwrap();
        assert_eq!((token.len(), hash_token(&token).len()), (64, 32));
    }
}
