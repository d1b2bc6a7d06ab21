// SPDX-License-Identifier: MIT
// node run.cjs FOLDER PORT DIRECTORY_PORT: a PDS with its data in FOLDER, and the directory that its accounts are
// registered with, in memory; both on 127.0.0.1. It is run from where the packages are installed. A file FOLDER/token_s
// says for how many seconds access tokens made from now on last (absent: the server's own two hours). Secrets come from
// the environment: LANDFALL_PDS_JWT, LANDFALL_PDS_KEY (64 hexadecimal digits); LANDFALL_PDS_LIMITS=true: with the server's
// own limits.
"use strict";
const fs = require("fs");
const net = require("net");
const path = require("path");
const own = require("module").createRequire(path.join(process.cwd(), "package.json"));

const [folder, port, directoryPort] = process.argv.slice(2);

// Neither server can be told an address to listen on.
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (where, ...more) {
    const at = typeof where === "object" ? {...where, host: "127.0.0.1"} : {port: Number(where), host: "127.0.0.1"};
    return listen.call(this, at, ...more.filter((one) => typeof one === "function"));
};

// The time to live of an access token cannot be configured.
const {SignJWT} = own("jose");
const setExpirationTime = SignJWT.prototype.setExpirationTime;
SignJWT.prototype.setExpirationTime = function (when) {
    const file = path.join(folder, "token_s");
    const short = when === "120mins" && fs.existsSync(file);
    return setExpirationTime.call(this, short ? fs.readFileSync(file, "utf8").trim() + "s" : when);
};

async function main() {
    const {PlcServer, Database} = own("@did-plc/server");
    await PlcServer.create({db: Database.mock(), port: Number(directoryPort)}).start();
    Object.assign(process.env, {
        PDS_PORT: port,
        PDS_HOSTNAME: "localhost",
        PDS_DEV_MODE: "true",
        PDS_DATA_DIRECTORY: folder,
        PDS_BLOBSTORE_DISK_LOCATION: path.join(folder, "blobs"),
        PDS_DID_PLC_URL: `http://127.0.0.1:${directoryPort}`,
        PDS_SERVICE_HANDLE_DOMAINS: ".test",
        PDS_INVITE_REQUIRED: "false",
        PDS_JWT_SECRET: process.env.LANDFALL_PDS_JWT,
        PDS_ADMIN_PASSWORD: process.env.LANDFALL_PDS_JWT,
        PDS_PLC_ROTATION_KEY_K256_PRIVATE_KEY_HEX: process.env.LANDFALL_PDS_KEY,
        PDS_DISABLE_SSRF_PROTECTION: "true",
        PDS_RATE_LIMITS_ENABLED: process.env.LANDFALL_PDS_LIMITS,
    });
    const {PDS, envToCfg, envToSecrets, readEnv} = own("@atproto/pds");
    const env = readEnv();
    await (await PDS.create(envToCfg(env), envToSecrets(env))).start();
    console.log("ready");
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
