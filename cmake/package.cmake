# SPDX-License-Identifier: MIT
# `cpack --preset package`, after configuring and building that preset: a Debian package with programs, descriptors, units,
# manual pages and completion.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME landfall)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "landfall maintainers <maintainers@landfall.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "publishes each content item to each channel once")
set(CPACK_PACKAGE_DESCRIPTION "A queue-driven fleet of workers over Redis: pings, microblogs, community sites, webhooks, e-mail.
What it is about to do is written down first; where an outcome is unknown the platform is read back
before anything is sent again.")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "ca-certificates, passwd")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "redis-server | valkey-server")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/deploy/systemd/postinst ${CMAKE_SOURCE_DIR}/deploy/systemd/prerm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
