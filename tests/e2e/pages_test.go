// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"berth-e2e/harness"
)

// commandBlock is a block of commands of a documentation page that says of itself which test runs it.
type commandBlock struct {
	how  string // the mark's words after the test's name
	text string
}

// blocksOf are a page's blocks for the test of that file, in order.
func blocksOf(t *testing.T, page, file string) []commandBlock {
	t.Helper()
	text, err := os.ReadFile(folderOf(t, page))
	if err != nil {
		t.Fatal(err)
	}
	expression := regexp.MustCompile("(?ms)^<!-- run by tests/e2e/" + regexp.QuoteMeta(file) + "(?:: ([^\n]*))? -->\n```sh\n(.*?)^```$")
	var blocks []commandBlock
	for _, match := range expression.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, commandBlock{how: match[1], text: match[2]})
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no block that %s runs", page, file)
	}
	return blocks
}

// typist runs the commands of a page as a reader would: in bash, with the kubectl and helm that were built here, and berth,
// on the PATH, and the project's folder as the current one.
type typist struct {
	kubeconfig string
	home       string
	path       string
}

func newTypist(t *testing.T, kubeconfig string) typist {
	t.Helper()
	home := harness.TempDir(t)
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(harness.Berth(t), filepath.Join(bin, "berth")); err != nil {
		t.Fatal(err)
	}
	return typist{kubeconfig, home, bin + ":" + filepath.Dir(harness.ControlPlane(t, "kubectl")) + ":" + os.Getenv("PATH")}
}

// types runs a block, every command of which has to succeed, and returns what it prints.
func (y typist) types(t *testing.T, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", "-c", text)
	command.Dir = folderOf(t, ".")
	command.Env = []string{"HOME=" + y.home, "KUBECONFIG=" + y.kubeconfig, "PATH=" + y.path}
	var output harness.LockedBuffer
	command.Stdout, command.Stderr = &output, &output
	if err := harness.Fork(command); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, output.String())
	}
	t.Logf("%s%s", text, output.String())
	return strings.TrimSpace(output.String())
}
