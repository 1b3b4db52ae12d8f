"""The layer check refuses what DESIGN's table does not allow, and nothing else."""

import pathlib
import sys
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_layers  # noqa: E402


class CheckLayersTest(unittest.TestCase):
    def setUp(self):
        self.checker = check_layers.Checker(tomllib.loads((ROOT / "tools/layers.toml").read_text()))

    def allowed(self, path, header):
        opening = '"' if header.startswith("presence/") else "<"
        return self.checker.complaint(path, opening, header) is None

    def test_a_layer_may_include_itself_and_what_stands_in_its_row(self):
        self.assertTrue(self.allowed("rules/merge.h", "presence/rules/version.h"))
        self.assertTrue(self.allowed("rules/merge.h", "presence/model/status.h"))
        self.assertTrue(self.allowed("stores/memory/store.cc", "presence/ports/session_store.h"))
        self.assertTrue(self.allowed("app/serve.cc", "presence/gateway/gateway.h"))

    def test_a_layer_may_not_include_upwards_or_sideways(self):
        self.assertFalse(self.allowed("rules/merge.h", "presence/core/limits.h"))
        self.assertFalse(self.allowed("model/view.h", "presence/rules/visibility.h"))
        self.assertFalse(self.allowed("net/server.cc", "presence/model/session.h"))
        self.assertFalse(self.allowed("core/attach.cc", "presence/loop/loop.h"))
        self.assertFalse(self.allowed("core/attach.cc", "presence/stores/memory/store.h"))
        self.assertFalse(self.allowed("gateway/gateway.cc", "presence/api/api.h"))

    def test_libraries_stay_in_their_layer_and_file(self):
        self.assertTrue(self.allowed("base/log.cc", "spdlog/spdlog.h"))
        self.assertFalse(self.allowed("base/log.h", "spdlog/spdlog.h"))
        self.assertTrue(self.allowed("net/http.cc", "boost/beast/http.hpp"))
        self.assertFalse(self.allowed("net/http.h", "boost/beast/http.hpp"))
        self.assertTrue(self.allowed("core/table.h", "boost/unordered/unordered_flat_map.hpp"))
        self.assertFalse(self.allowed("core/table.h", "boost/asio/io_context.hpp"))
        self.assertFalse(self.allowed("protocol/encode.cc", "openssl/sha.h"))

    def test_pure_layers_see_no_system(self):
        self.assertTrue(self.allowed("rules/merge.h", "optional"))
        self.assertFalse(self.allowed("rules/merge.h", "unistd.h"))
        self.assertFalse(self.allowed("core/attach.cc", "sys/socket.h"))
        self.assertTrue(self.allowed("net/socket.cc", "sys/socket.h"))

    def test_a_file_outside_every_layer_is_refused(self):
        self.assertFalse(self.allowed("misc/helper.h", "optional"))
        self.assertFalse(self.allowed("stores/shared.h", "optional"))

    def test_a_quoted_include_names_its_layer(self):
        self.assertIsNotNone(self.checker.complaint("rules/merge.cc", '"', "merge.h"))

    def test_a_bad_sample_on_disk_is_found_with_its_line(self):
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "tools").mkdir()
            (root / "tools/layers.toml").write_text((ROOT / "tools/layers.toml").read_text())
            (root / "src/presence/rules").mkdir(parents=True)
            (root / "src/presence/rules/bad.h").write_text(
                '#pragma once\n#include "presence/model/status.h"\n#include "presence/core/limits.h"\n')
            lines = check_layers.check(root)
        self.assertEqual(lines, ["src/presence/rules/bad.h:3: presence/core/limits.h: "
                                 "rules may not include core"])


if __name__ == "__main__":
    unittest.main()
