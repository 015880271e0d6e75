//! The ciphers of SRTP and the hashes of STUN, by ring and aes.

use aes::cipher::{BlockEncrypt, KeyInit};
use aes::{Aes128, Aes256};
use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, Algorithm, LessSafeKey, Nonce, UnboundKey};
use ring::{digest, hmac};
use str0m::crypto::{
    AeadAes128GcmCipher, AeadAes256GcmCipher, Aes128CmSha1_80Cipher, CryptoError, Sha1HmacProvider, Sha256Provider,
    SrtpProvider, SupportedAeadAes128Gcm, SupportedAeadAes256Gcm, SupportedAes128CmSha1_80,
};

/// All of them: none has a state.
#[derive(Debug)]
pub(crate) struct Ciphers;

impl Sha1HmacProvider for Ciphers {
    fn sha1_hmac(&self, key: &[u8], payloads: &[&[u8]]) -> [u8; 20] {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key));
        payloads.iter().for_each(|payload| context.update(payload));
        context.sign().as_ref().try_into().expect("SHA-1 has 20 bytes")
    }
}

impl Sha256Provider for Ciphers {
    fn sha256(&self, data: &[u8]) -> [u8; 32] {
        digest::digest(&digest::SHA256, data).as_ref().try_into().expect("SHA-256 has 32 bytes")
    }
}

impl SrtpProvider for Ciphers {
    fn aes_128_cm_sha1_80(&self) -> &'static dyn SupportedAes128CmSha1_80 {
        &Ciphers
    }

    fn aead_aes_128_gcm(&self) -> &'static dyn SupportedAeadAes128Gcm {
        &Ciphers
    }

    fn aead_aes_256_gcm(&self) -> &'static dyn SupportedAeadAes256Gcm {
        &Ciphers
    }

    fn srtp_aes_128_ecb_round(&self, key: &[u8], input: &[u8], output: &mut [u8]) {
        encrypt_block(&Aes128::new(key.into()), input, output);
    }

    fn srtp_aes_256_ecb_round(&self, key: &[u8], input: &[u8], output: &mut [u8]) {
        encrypt_block(&Aes256::new(key.into()), input, output);
    }
}

/// Encrypts the one block of `input` to the beginning of `output`.
fn encrypt_block(cipher: &impl BlockEncrypt<BlockSize = aes::cipher::consts::U16>, input: &[u8], output: &mut [u8]) {
    output[..16].copy_from_slice(&input[..16]);
    cipher.encrypt_block((&mut output[..16]).into());
}

impl SupportedAes128CmSha1_80 for Ciphers {
    fn create_cipher(&self, key: [u8; 16], _encrypt: bool) -> Box<dyn Aes128CmSha1_80Cipher> {
        Box::new(CounterMode(Aes128::new(&key.into())))
    }
}

/// AES in counter mode (RFC 3711, section 4.1.1).
struct CounterMode(Aes128);

impl Aes128CmSha1_80Cipher for CounterMode {
    fn encrypt(&mut self, iv: &[u8; 16], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        let first = u128::from_be_bytes(*iv);
        for ((counter, input), output) in (0..).zip(input.chunks(16)).zip(output.chunks_mut(16)) {
            let mut stream = first.wrapping_add(counter).to_be_bytes();
            self.0.encrypt_block((&mut stream).into());
            for ((output, input), stream) in output.iter_mut().zip(input).zip(stream) {
                *output = input ^ stream;
            }
        }
        Ok(())
    }

    fn decrypt(&mut self, iv: &[u8; 16], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        self.encrypt(iv, input, output)
    }
}

impl SupportedAeadAes128Gcm for Ciphers {
    fn create_cipher(&self, key: [u8; 16], _encrypt: bool) -> Box<dyn AeadAes128GcmCipher> {
        Box::new(Gcm::new(&AES_128_GCM, &key))
    }
}

impl SupportedAeadAes256Gcm for Ciphers {
    fn create_cipher(&self, key: [u8; 32], _encrypt: bool) -> Box<dyn AeadAes256GcmCipher> {
        Box::new(Gcm::new(&AES_256_GCM, &key))
    }
}

/// AES in Galois/counter mode (RFC 7714).
struct Gcm(LessSafeKey);

impl Gcm {
    fn new(algorithm: &'static Algorithm, key: &[u8]) -> Self {
        Self(LessSafeKey::new(UnboundKey::new(algorithm, key).expect("the key has the algorithm's size")))
    }

    /// Writes what is encrypted, and the tag behind it.
    fn seal(&self, iv: [u8; 12], aad: &[u8], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        let (text, tag) = output.split_at_mut(input.len());
        text.copy_from_slice(input);
        let sealed = self.0.seal_in_place_separate_tag(Nonce::assume_unique_for_key(iv), Aad::from(aad), text);
        let sealed = sealed.map_err(|_| CryptoError::Other("AES-GCM cannot encrypt".to_owned()))?;
        tag[..sealed.as_ref().len()].copy_from_slice(sealed.as_ref());
        Ok(())
    }

    /// Writes what is decrypted, and returns its size.
    fn open(&self, iv: [u8; 12], aad: &[&[u8]], input: &[u8], output: &mut [u8]) -> Result<usize, CryptoError> {
        let mut buffer = input.to_vec();
        let opened = self.0.open_in_place(Nonce::assume_unique_for_key(iv), Aad::from(aad.concat()), &mut buffer);
        let opened = opened.map_err(|_| CryptoError::Other("the tag of AES-GCM is wrong".to_owned()))?;
        output[..opened.len()].copy_from_slice(opened);
        Ok(opened.len())
    }
}

impl AeadAes128GcmCipher for Gcm {
    fn encrypt(&mut self, iv: &[u8; 12], aad: &[u8], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        self.seal(*iv, aad, input, output)
    }

    fn decrypt(&mut self, iv: &[u8; 12], aad: &[&[u8]], input: &[u8], output: &mut [u8]) -> Result<usize, CryptoError> {
        self.open(*iv, aad, input, output)
    }
}

impl AeadAes256GcmCipher for Gcm {
    fn encrypt(&mut self, iv: &[u8; 12], aad: &[u8], input: &[u8], output: &mut [u8]) -> Result<(), CryptoError> {
        self.seal(*iv, aad, input, output)
    }

    fn decrypt(&mut self, iv: &[u8; 12], aad: &[&[u8]], input: &[u8], output: &mut [u8]) -> Result<usize, CryptoError> {
        self.open(*iv, aad, input, output)
    }
}

impl std::fmt::Debug for CounterMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CounterMode").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Gcm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gcm").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        let byte = |i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("two digits");
        std::array::from_fn(byte)
    }

    /// RFC 3711, appendix B.2: the first three blocks of the key stream.
    #[test]
    fn counter_mode_has_the_key_stream_of_the_rfc() {
        let mut cipher =
            SupportedAes128CmSha1_80::create_cipher(&Ciphers, bytes("2B7E151628AED2A6ABF7158809CF4F3C"), true);
        let mut stream = [0; 48];
        cipher.encrypt(&bytes("F0F1F2F3F4F5F6F7F8F9FAFBFCFD0000"), &[0; 48], &mut stream).expect("a stream");
        let expected =
            "E03EAD0935C95E80E166B16DD92B4EB4D23513162B02D0F72A43A2FE4A5F97AB41E95B3BB0A2E8DD477901E4FCA894C0";
        assert_eq!(stream, bytes(expected));
    }

    /// RFC 3711, appendix B.3: the first block of the cipher key that is derived from the master key.
    #[test]
    fn keys_are_derived_as_in_the_rfc() {
        let (mut input, mut output) = ([0; 16], [0; 32]);
        input[..14].copy_from_slice(&bytes::<14>("0EC675AD498AFEEBB6960B3AABE6"));
        let master = bytes::<16>("E1F97A0D3E018BE0D64FA32C06DE4139");
        Ciphers.srtp_aes_128_ecb_round(&master, &input, &mut output);
        assert_eq!(output[..16], bytes::<16>("C61E7A93744F39EE10734AFE3FF7A087"));
    }

    /// RFC 7714, section 16.1.1: an RTP packet with AEAD_AES_128_GCM. A wrong tag is refused.
    #[test]
    fn galois_counter_mode_encrypts_as_in_the_rfc() {
        let mut cipher = SupportedAeadAes128Gcm::create_cipher(&Ciphers, std::array::from_fn(|i| i as u8), true);
        let (iv, aad) = (bytes("51753C6580C2726F20718414"), bytes::<12>("8040F17B8041F8D35501A0B2"));
        let text = b"Gallia est omnis divisa in partes tres";
        let mut sealed = [0; 54];
        cipher.encrypt(&iv, &aad, text, &mut sealed).expect("a packet");
        let expected = "F24DE3A3FB34DE6CACBA861C9D7E4BCABE633BD50D294E6F42A5F47A51C7D19B36DE3ADF8833899D7F27BEB16A9152CF765EE4390CCE";
        assert_eq!(sealed, bytes(expected));
        let mut opened = [0; 38];
        assert_eq!(cipher.decrypt(&iv, &[&aad], &sealed, &mut opened).expect("a packet"), 38);
        assert_eq!(&opened, text);
        sealed[53] ^= 1;
        assert!(cipher.decrypt(&iv, &[&aad], &sealed, &mut opened).is_err());
    }

    /// RFC 2202, section 3, test case 1, in two parts.
    #[test]
    fn the_hash_is_that_of_the_rfc() {
        let hash = Ciphers.sha1_hmac(&[0x0b; 20], &[b"Hi ", b"There"]);
        assert_eq!(hash, bytes("b617318655057264e28bc0b6fb378c8ef146be00"));
    }
}
