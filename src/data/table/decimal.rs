//! The quick road of most cells: a plain decimal number, read and measured in one pass. Must give the bits that `parse`
//! gives, and leave the harder cases to it.

/// A number of an optional sign, digits and a point, so short that its value is exact but for one rounding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Decimal {
    pub value: f64,
    /// Bytes that it takes.
    pub length: usize,
    /// Where its point stands.
    pub point: Option<usize>,
    pub is_signed: bool,
}

/// The decimal in front of a text, whatever follows; `None` where there is none or its value takes more care.
#[inline]
pub(crate) fn decimal(bytes: &[u8]) -> Option<Decimal> {
    // Powers of ten that are doubles: a quotient of two exact doubles is rounded once, as `parse` rounds.
    const TENS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ];
    const MOST_EXACT: u64 = 1 << 53;
    // More digits may overflow the integer.
    const MOST_DIGITS: usize = 19;
    let sign = bytes.first().copied().filter(|b| matches!(b, b'-' | b'+'));
    let start = usize::from(sign.is_some());
    let mut mantissa = 0u64;
    let mut digits = |mut at: usize| {
        while let Some(digit) = bytes.get(at).map(|b| b.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
            at += 1;
        }
        at
    };
    let whole_end = digits(start);
    let point = (bytes.get(whole_end) == Some(&b'.')).then_some(whole_end);
    let length = point.map_or(whole_end, |point| digits(point + 1));
    let n_fraction = point.map_or(0, |point| length - point - 1);
    let n_digits = whole_end - start + n_fraction;
    if n_digits == 0 || n_digits > MOST_DIGITS || mantissa > MOST_EXACT {
        return None;
    }
    let value = mantissa as f64 / TENS[n_fraction];
    let value = if sign == Some(b'-') { -value } else { value };
    Some(Decimal { value, length, point, is_signed: sign.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The quick road gives the bits that `parse` gives, and says no where it might not.
    #[test]
    fn decimals_are_parsed_to_the_bit() {
        let mut rng = crate::base::rng::SplitMix64::new(11);
        let mut quick = 0;
        for i in 0..200_000u64 {
            let (bits, digits) = (rng.next_u64(), rng.next_u64() % 24);
            let mut text = (bits >> (i % 64)).to_string();
            let at = (digits as usize).min(text.len());
            text.insert(at, '.');
            if i % 3 == 0 {
                text.insert_str(at + 1, "000");
            }
            text.insert_str(0, ["", "-", "+"][(bits % 3) as usize]);
            if i % 5 == 0 {
                text = text.replace('.', "");
            }
            if let Some(d) = decimal(text.as_bytes()) {
                assert_eq!(d.length, text.len());
                assert_eq!(d.value.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
                quick += 1;
            }
        }
        assert!(quick > 100_000, "{quick}");
        for text in ["", "-", ".", "-.", "+", "a", "9007199254740993", "0.00000000000000000001"] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
        let lengths = ["1.5,2", "-7e5", "5.", ".5;", "1.2.3", "-0"].map(|t| decimal(t.as_bytes()).map(|d| d.length));
        assert_eq!(lengths, [Some(3), Some(2), Some(2), Some(2), Some(3), Some(2)]);
        assert_eq!(decimal(b"-0").unwrap().value.to_bits(), (-0.0f64).to_bits());
    }
}
