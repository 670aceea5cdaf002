//! The hot functions in Rust: each is entered by its C name, and works in a function of Rust's.
#![no_std]

pub mod deep {
    /// A generic function, whose name says for what.
    #[inline(never)]
    pub fn alpha<T: Into<u64>>(seed: T, iterations: u64) -> u64 {
        let mut x = seed.into();
        for i in 0..iterations {
            x = core::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(i));
        }
        x
    }

    pub struct Mill;

    impl Mill {
        #[inline(never)]
        pub fn beta(&self, iterations: u64) -> u64 {
            let mut x = iterations | 1;
            for _ in 0..iterations {
                x ^= x << 13;
                x = core::hint::black_box(x ^ (x >> 7));
            }
            x
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn spin_alpha(iterations: u64) -> u64 {
    deep::alpha(1u32, iterations)
}

#[unsafe(no_mangle)]
pub extern "C" fn spin_beta(iterations: u64) -> u64 {
    deep::Mill.beta(iterations)
}

#[unsafe(no_mangle)]
pub extern "C" fn spin_gamma(iterations: u64) -> u64 {
    deep::alpha(2u8, iterations)
}
