// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateGolden = flag.Bool("golden.update", false, "write what commands print to the golden files")

// expectGolden compares a text with a file in folder testdata.
func expectGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *updateGolden {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; -golden.update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// runTemplateCommand runs clm template on the sources in folder testdata/template.
func runTemplateCommand(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	root := newRootCommand(&environment{streams: streams{in: strings.NewReader(stdin), out: &stdout, err: &stderr}})
	root.SetArgs(append([]string{"template", "--kubeconfig", os.DevNull}, args...))
	err := root.ExecuteContext(t.Context())
	if stderr.Len() > 0 {
		t.Errorf("standard error: %s", stderr.String())
	}
	return stdout.String(), err
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	const web = "testdata/template/web"
	for _, test := range []struct {
		name, reason string
		stdin        string
		args         []string
	}{
		{name: "install", reason: "what is applied first, by values from everywhere", stdin: "replicas: 2\n", args: []string{
			"shop", web, "-f", "-", "--set", "replicas=3", "-n", "pages", "--kube-version", "1.36",
		}},
		{name: "upgrade", reason: "what is applied later, to another cluster", args: []string{
			"shop", web, "--is-upgrade", "--kube-version", "v1.35.2", "--api-versions", "monitoring.example.com/v1/Monitor",
		}},
		{name: "hooks", reason: "what is applied when something else is done with the release", args: []string{
			"shop", web, "--include-hooks", "--revision", "7", "--kube-version", "1.36",
		}},
		{name: "several", reason: "several sources, of which one has its templates rendered on demand, and rules", args: []string{
			"shop", "testdata/template/settings", web, "testdata/template/plain/objects.yaml", "--template", "--set-string", "color=blue",
			"--policy-rules", "testdata/template/rules.yaml", "--kube-version", "1.36",
		}},
		{name: "stdin", reason: "manifests from elsewhere", stdin: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n", args: []string{"shop", "-"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := runTemplateCommand(t, test.stdin, test.args...)
			if err != nil {
				t.Fatalf("%s: %v", test.reason, err)
			}
			expectGolden(t, "template/"+test.name+".yaml", got)
		})
	}
}

// TestTemplateWithAServer: templates see what there is in the cluster.
func TestTemplateWithAServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := t.TempDir()
	p.write(filepath.Join(dir, "Chart.yaml"), "{apiVersion: v2, name: looking, version: 1.0.0}")
	p.write(filepath.Join(dir, "templates", "all.yaml"), `apiVersion: v1
kind: ConfigMap
metadata: {name: found}
data: {value: {{ dig "metadata" "name" "nothing" (lookup "v1" "Namespace" "" .Release.Namespace) }}}
`)
	if got := p.must("template", "web", dir, "--server").stdout; !strings.Contains(got, "value: "+p.namespace) {
		t.Errorf("expected that the namespace is found, got %s", got)
	}
	if got := p.must("template", "web", dir).stdout; !strings.Contains(got, "value: nothing") {
		t.Errorf("expected that nothing is found, got %s", got)
	}
	if got := p.clm("template", "web", dir, "--server", "--kube-version", "1.30"); got.code != 1 || !strings.Contains(got.stderr, "kube-version") {
		t.Errorf("expected that the flags are mutually exclusive, got %s", got.stderr)
	}
}
