<?php
// SPDX-License-Identifier: MIT
// php install.php FOLDER: makes the tables, and prints an application password for each of the two users, as JSON.
define('WP_INSTALLING', true);
require $argv[1] . '/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('Landfall', 'brand', 'brand@blog.example', true, '', wp_generate_password());
update_option('permalink_structure', '/%postname%/');
flush_rewrite_rules();
wp_insert_user(['user_login' => 'guest', 'user_pass' => wp_generate_password(), 'role' => 'contributor']);
$passwords = [];
foreach (['brand', 'guest'] as $login) {
    $user = get_user_by('login', $login);
    [$passwords[$login]] = WP_Application_Passwords::create_new_application_password($user->ID, ['name' => 'landfall']);
}
foreach (get_posts(['post_status' => 'any', 'numberposts' => -1]) as $post) {
    wp_delete_post($post->ID, true);
}
echo json_encode($passwords), "\n";
