# What is installed, and the Debian package (`./dev package`). The manual of the configuration is written by the binary that
# goes into the package.

set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY TRUE)  # The server is enough: packaging builds no tests.
set(shipped ${CMAKE_SOURCE_DIR}/deploy)
set(staged ${CMAKE_BINARY_DIR}/package)

install(TARGETS presenced RUNTIME DESTINATION bin)
install(CODE "
    file(MAKE_DIRECTORY ${staged})
    execute_process(
        COMMAND ${CMAKE_SOURCE_DIR}/tools/man_keys.py $<TARGET_FILE:presenced>
        OUTPUT_FILE ${staged}/presenced.toml.5 COMMAND_ERROR_IS_FATAL ANY)
    execute_process(
        COMMAND gzip -9nc ${staged}/presenced.toml.5
        OUTPUT_FILE ${staged}/presenced.toml.5.gz COMMAND_ERROR_IS_FATAL ANY)
    execute_process(
        COMMAND gzip -9nc ${shipped}/man/presenced.8
        OUTPUT_FILE ${staged}/presenced.8.gz COMMAND_ERROR_IS_FATAL ANY)
    execute_process(
        COMMAND gzip -9nc ${CMAKE_SOURCE_DIR}/CHANGELOG.md
        OUTPUT_FILE ${staged}/changelog.gz COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${staged}/presenced.8.gz DESTINATION share/man/man8)
install(FILES ${staged}/presenced.toml.5.gz DESTINATION share/man/man5)
install(FILES ${staged}/changelog.gz ${shipped}/debian/copyright DESTINATION share/doc/presenced)
install(DIRECTORY ${shipped}/nginx ${shipped}/haproxy ${shipped}/envoy ${shipped}/prometheus
                  ${shipped}/grafana
        DESTINATION share/doc/presenced/examples)
install(FILES ${shipped}/completions/presenced.bash
        DESTINATION share/bash-completion/completions RENAME presenced)
install(FILES ${shipped}/completions/_presenced DESTINATION share/zsh/vendor-completions)
install(FILES ${shipped}/debian/presenced.toml DESTINATION /etc/presenced)
install(FILES ${shipped}/debian/presenced.service DESTINATION lib/systemd/system)
install(FILES ${shipped}/debian/presenced.sysusers
        DESTINATION lib/sysusers.d RENAME presenced.conf)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_CONTACT "the authors of presenced <presenced@example.org>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "redis-server (>= 7:7.0), postgresql, nginx | haproxy")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "Presence server: who can be reached now, and when they last could
 Keeps who is online, away, busy or gone for a chat, collaboration or game
 back end, and who may see it. Clients connect by WebSocket, Server-Sent
 Events, long poll or HTTP. One node runs on an embedded database, many on
 Redis and PostgreSQL.")
file(WRITE ${staged}/conffiles "/etc/presenced/presenced.toml\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${shipped}/debian/postinst ${shipped}/debian/prerm ${shipped}/debian/postrm ${staged}/conffiles)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
include(CPack)
