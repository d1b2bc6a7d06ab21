<?php
// SPDX-License-Identifier: MIT
// Configuration of the unpacked WordPress; the folder's own data and address come from the environment of one server.
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:' . getenv('LANDFALL_DB_SOCKET'));
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
    define($name . '_KEY', 'key of a server that lives for one test ' . $name);
    define($name . '_SALT', 'salt of a server that lives for one test ' . $name);
}
define('WP_HOME', getenv('LANDFALL_ORIGIN'));
define('WP_SITEURL', getenv('LANDFALL_ORIGIN'));
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_ENVIRONMENT_TYPE', 'local'); // application passwords without TLS
$table_prefix = 'wp_';
if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/');
}
require_once ABSPATH . 'wp-settings.php';
