// SPDX-License-Identifier: MIT
// Writes doubles.txt: "node doubles.js > doubles.txt". One double a line: its bits, and its text by JSON.stringify.
// Run once and kept, so that the tests need no node; the seed is fixed, so that anybody gets the same file.
"use strict";

const view = new DataView(new ArrayBuffer(8));
const toDouble = (bits) => (view.setBigUint64(0, bits), view.getFloat64(0));
const toBits = (number) => (view.setFloat64(0, number), view.getBigUint64(0));

let seed = 0x9e3779b97f4a7c15n; // xorshift64
function random() {
    seed ^= (seed << 13n) & 0xffffffffffffffffn;
    seed ^= seed >> 7n;
    seed ^= (seed << 17n) & 0xffffffffffffffffn;
    return seed;
}

function write(number) {
    console.log(toBits(number).toString(16).padStart(16, "0") + " " + JSON.stringify(number));
}

// any bits: nearly all of them very large or very small
for (let n = 0; n < 5000; ) {
    const number = toDouble(random());
    if (Number.isFinite(number)) n++, write(number);
}
// 2^-25 to 2^75: where numbers are written without an exponent, and around both ends of that
for (let n = 0; n < 3000; n++) {
    const exponent = 1023n - 25n + random() % 100n;
    write(toDouble((random() & 0x800fffffffffffffn) | (exponent << 52n)));
}
// what people write: up to 12 digits, up to 8 of them behind the point
for (let n = 0; n < 2000; n++) write(Number(random() % 10n ** (random() % 12n + 1n)) / 10 ** Number(random() % 9n));
// powers of two whose nearest decimal of that length belongs to another double
for (let exponent = -1074; exponent < 1024; exponent++) {
    const number = 2 ** exponent;
    const digits = number.toExponential().replace(/e.*|\./g, "").length;
    if (Number(number.toExponential(digits - 1)) !== number) write(number);
}
