// needs: step
// The device's own step counter: many steps go into one submit, each with its row of the schedule.

@group(0) @binding(0) var<storage, read> schedule: array<StepArgs>;
@group(0) @binding(1) var<storage, read_write> cursor: u32;
@group(0) @binding(2) var<storage, read_write> args: StepArgs;

@compute @workgroup_size(1)
fn advance() {
    args = schedule[cursor];
    cursor += 1u;
}
