// Where an invocation stands in the whole dispatch. Workgroups are lines of 64; more than 65,535 of them spread over
// x and y, so that the flat number is y * groups.x + x. The last workgroups may lie past the end: kernels test.

const GROUP_SIZE: u32 = 64u;

fn flat_group(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}

fn flat_index(group: vec3<u32>, groups: vec3<u32>, lane: u32) -> u32 {
    return flat_group(group, groups) * GROUP_SIZE + lane;
}

fn div_ceil(n: u32, d: u32) -> u32 {
    return (n + d - 1u) / d;
}

// How many stand from `at` up to `end`.
fn remaining(at: u32, end: u32) -> u32 {
    return max(at, end) - at;
}
