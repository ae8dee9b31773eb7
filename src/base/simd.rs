//! Vector instructions: what the processor has, asked in this one place, and `wide!`, which compiles a function once for
//! each set and asks at the call which copy to run.

use std::sync::atomic::{AtomicU8, Ordering};

/// What the processor can do, the smaller first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Isa {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The largest set that kernels use, as `Isa as u8`.
static MOST: AtomicU8 = AtomicU8::new(u8::MAX);

impl Isa {
    /// All sets of this architecture, the smaller first.
    pub const ALL: &[Isa] = &[
        Isa::Plain,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512,
    ];

    /// The largest set that the processor has and `use_at_most` allows.
    #[inline(always)]
    pub fn detect() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            let most = MOST.load(Ordering::Relaxed);
            if most >= Isa::Avx512 as u8 && Isa::Avx512.is_here() {
                return Isa::Avx512;
            }
            if most >= Isa::Avx2 as u8 && Isa::Avx2.is_here() {
                return Isa::Avx2;
            }
        }
        Isa::Plain
    }

    /// From here on kernels are those of a processor that has no more than this: to time them beside the largest.
    pub fn use_at_most(self) {
        MOST.store(self as u8, Ordering::Relaxed);
    }

    /// Whether the processor has this set.
    #[inline(always)]
    pub fn is_here(self) -> bool {
        match self {
            Isa::Plain => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
            }
        }
    }

    /// "AVX-512", "AVX2", or what every machine of this architecture has.
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => "AVX2",
            Isa::Plain if cfg!(target_arch = "x86_64") => "SSE2",
            Isa::Plain if cfg!(target_arch = "aarch64") => "NEON",
            Isa::Plain => std::env::consts::ARCH,
        }
    }
}

/// Declares a function that is compiled once for each instruction set and asks the processor which copy to run. What it
/// calls with `#[inline(always)]` is compiled for that set too; closures handed to other threads are not. `[isa]` behind the
/// name gives the body the set as a constant.
macro_rules! wide {
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$($g:ident: $bound:path),+>($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        $crate::base::simd::wide! {
            $(#[$doc])* $vis fn $name[_isa]<$($g: $bound),+>($($arg: $ty),*) $body
        }
    };
    (
        $(#[$doc:meta])*
        $vis:vis fn $name:ident[$isa:ident]<$($g:ident: $bound:path),+>($($arg:ident: $ty:ty),* $(,)?) $body:block
    ) => {
        $(#[$doc])*
        $vis fn $name<$($g: $bound),+>($($arg: $ty),*) {
            use $crate::base::simd::Isa;
            #[inline(always)]
            fn any<$($g: $bound),+>($isa: Isa, $($arg: $ty),*) $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
                fn avx512<$($g: $bound),+>($($arg: $ty),*) {
                    any(Isa::Avx512, $($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2<$($g: $bound),+>($($arg: $ty),*) {
                    any(Isa::Avx2, $($arg),*)
                }
                match Isa::detect() {
                    // SAFETY: the processor was just asked for these features.
                    Isa::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    Isa::Avx2 => return unsafe { avx2($($arg),*) },
                    Isa::Plain => {}
                }
            }
            any(Isa::Plain, $($arg),*)
        }
    };
}
pub(crate) use wide;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Real;

    wide! {
        fn told[isa]<T: Real>(of: &mut Option<Isa>, x: &mut [T]) {
            *of = Some(isa);
            x.fill(T::one());
        }
    }

    /// The copy that runs is the one of the processor's set.
    #[test]
    fn a_wide_function_knows_its_set() {
        let (mut isa, mut x) = (None, [0.0f32; 3]);
        told(&mut isa, &mut x);
        assert_eq!((isa, x), (Some(Isa::detect()), [1.0; 3]));
        assert!(!Isa::detect().name().is_empty());
    }
}
