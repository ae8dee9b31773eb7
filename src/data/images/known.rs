//! Published files, recognised by their MD5. Only sums that the READMEs of the project's test data or its fetch script
//! state; a file that is not here is no worse for it.

use md5::{Digest, Md5};

/// MD5 in hexadecimal and what the file is.
#[rustfmt::skip]
const KNOWN: [(&str, &str); 26] = [
    ("5dd7e06a14cb22eb9f671a540d1b7c25", "CIFAR-10 data_batch_1.bin as published"),
    ("5ea93a67294ea407fff1d09f752e9692", "CIFAR-10 data_batch_2.bin as published"),
    ("942cd6a4bcdd0dd3c604fbe906cb4421", "CIFAR-10 data_batch_3.bin as published"),
    ("ae636b3ba5c66a11e91e8cb52e771fcb", "CIFAR-10 data_batch_4.bin as published"),
    ("53f37980c15c3d472c316c40844f3f0d", "CIFAR-10 data_batch_5.bin as published"),
    ("803d5f7f4d78ea53de84dbe85f74fb6d", "CIFAR-10 test_batch.bin as published"),
    ("e26dedcc434d2e4c54c9b2d4a06d8373", "SVHN train_32x32.mat as published"),
    ("eb5a983be6a315427106f1b164d9cef3", "SVHN test_32x32.mat as published"),
    ("918c2871b30a85fa023e0c44e0bee87f", "STL-10 train_X.bin as published"),
    ("5a34089d4802c674881badbb80307741", "STL-10 train_y.bin as published"),
    ("7f263ba9f9e0b06b93213547f721ac82", "STL-10 test_X.bin as published"),
    ("36f9794fa4beb8a2c72628de14fa638e", "STL-10 test_y.bin as published"),
    ("d4fe023942b61c24694d631485866cee", "CIFAR-10 mini: the first 2,000 records of data_batch_1.bin"),
    ("371f65da31ad652f5e24b3699a3e6515", "CIFAR-10 mini: the first 1,000 records of test_batch.bin"),
    ("fc743824a402dd22af1122c431fc82aa", "The first 20 records of CIFAR-100 test.bin"),
    ("74c22cec417ffe141557fa8511596412", "The layout of STL-10 filled with CIFAR-10 images, not STL-10 itself"),
    ("a4f43f5fd4fa822d39a346c954704b2b", "Labels for the layout of STL-10, not STL-10 itself"),
    ("795d14b955adbb2ed22502475213c58a", "The layout of SVHN filled with CIFAR-10 images, not SVHN itself (compressed)"),
    ("094b0c1f1e951c661ba22d994edbf978", "The layout of SVHN filled with CIFAR-10 images, not SVHN itself (plain)"),
    ("8ef15a66fab5033a036fbb607a41628a", "The project's 1,000 texture patches"),
    ("2c87c839a4ef9b238846600eec8c35b7", "notMNIST test images (10,000)"),
    ("7ea9118cbafd0f6e3ee2ad771d782a01", "notMNIST test labels (10,000)"),
    ("a62f871d537839546f5c1640422051ad", "USPS test images (2,007)"),
    ("db9560ec4655bb94e4643637a70278ea", "USPS test labels (2,007)"),
    ("9d99eb928e4c8bac4d3442005fb76995", "USPS training images (7,291)"),
    ("3da8175795b12ad9f0d370de33807fc8", "USPS training labels (7,291)"),
];

/// What the file with this MD5 (32 hexadecimal digits) is, if it is a known one.
pub fn recognise(md5: &str) -> Option<&'static str> {
    KNOWN.iter().find(|(sum, _)| sum.eq_ignore_ascii_case(md5)).map(|(_, what)| *what)
}

/// MD5 in 32 hexadecimal digits.
pub fn md5_hex(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The sentence for a known file.
pub(crate) fn note(bytes: &[u8]) -> Option<String> {
    recognise(&md5_hex(bytes)).map(|what| format!("{what}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn md5_of_the_published_test_vectors() {
        // RFC 1321, appendix A.5.
        assert_eq!(md5_hex(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(md5_hex(b"message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
    }

    #[test]
    fn every_sum_is_well_formed_and_single() {
        for (i, (sum, what)) in KNOWN.iter().enumerate() {
            assert!(sum.len() == 32 && sum.bytes().all(|b| b.is_ascii_hexdigit()), "{what}");
            assert!(!KNOWN[..i].iter().any(|(other, _)| other == sum), "{what}");
        }
        assert_eq!(recognise("803D5F7F4D78EA53DE84DBE85F74FB6D"), Some("CIFAR-10 test_batch.bin as published"));
        assert_eq!(recognise("d41d8cd98f00b204e9800998ecf8427e"), None);
    }
}
