// Numbers of commands (`Session::command` in `wasm/src/session.rs`) and of events.

export const COMMANDS = {
    play: 0,
    pause: 1,
    stop: 2,
    seek: 3,
    seekFrame: 4,
    rate: 5,
    repeat: 6,
    range: 7,
    frames: 8,
    interpolate: 9,
    frameStep: 10,
    preRoll: 11,
    visible: 12,
}

/** The behaviour at the ends of the range that is played. */
export const REPEATS = { once: 0, loop: 1, pingPong: 2, cycle: 3 }

export const EVENTS = ['opened', 'noFrames', 'openFailed', 'readFailed', 'damaged', 'recovered', 'refused']
