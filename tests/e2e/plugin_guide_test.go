// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"berth-e2e/harness"
)

// docs/plugins/write-a-plugin.md, command by command, with the kubectl that was built here: ./dev test runs the same where
// there is one on the machine.
func TestPluginGuide(t *testing.T) {
	harness.NeedsBerth(t)
	berth := harness.Berth(t)
	build := filepath.Dir(filepath.Dir(berth))
	if _, err := os.Stat(filepath.Join(build, "cmake_install.cmake")); err != nil {
		t.Skipf("%s is in no build folder, so that there is nothing to install", berth)
	}
	guide, err := filepath.Abs("../integration/test_plugin_guide.py")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("python3", "-B", guide)
	command.Env = append(os.Environ(), "BERTH_BINARY="+berth, "BERTH_BUILD="+build, "BERTH_CXX=g++",
		"PATH="+filepath.Dir(harness.ControlPlane(t, "kubectl"))+":"+os.Getenv("PATH"))
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
