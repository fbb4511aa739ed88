// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// offers returns what is offered for the last of the words, which is not complete, and what the shell is to do about
// it.
func (p *place) offers(words ...string) string {
	p.Helper()
	var stdout, stderr bytes.Buffer
	s := streams{in: strings.NewReader(""), out: &stdout, err: &stderr}
	args := append([]string{cobra.ShellCompRequestCmd, "--kubeconfig", p.kubeconfig, "--namespace", p.namespace}, words...)
	if code := run(p.Context(), s, args); code != 0 {
		p.Fatalf("exit code %d, %s", code, stderr.String())
	}
	return strings.ReplaceAll(stdout.String(), p.namespace, "PLACE")
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const noFiles, files = ":4\n", ":0\n"
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+configMap("b", "1")))
	p.must("apply", "web", p.file("app.yaml", configMap("a", "2")+configMap("b", "1")))
	p.must("apply", "web.example.com", p.file("app.yaml", configMap("c", "1")))
	for _, test := range []struct {
		reason string
		words  []string
		want   string
	}{
		{"releases of the namespace", []string{"status", ""}, "web\nweb.example.com\n" + noFiles},
		{"those that begin so", []string{"wait", "web."}, "web.example.com\n" + noFiles},
		{"there is one name", []string{"status", "web", ""}, noFiles},
		{"releases that may be changed", []string{"apply", ""}, "web\nweb.example.com\n" + noFiles},
		{"sources are files", []string{"apply", "web", ""}, files},
		{"further sources are, too", []string{"diff", "web", "app.yaml", ""}, files},
		{"revisions, the latest first", []string{"rollback", "web", ""}, "2\tReady, applied\n1\tSuperseded, applied\n" + noFiles},
		{"revisions as the value of a flag", []string{"get", "values", "web", "--revision", ""}, "2\tReady, applied\n1\tSuperseded, applied\n" + noFiles},
		{"objects of the release", []string{"logs", "web", ""}, "configmap/a\tConfigMap PLACE/a\nconfigmap/b\tConfigMap PLACE/b\n" + noFiles},
		{"objects that were not named yet", []string{"logs", "web", "configmap/a", ""}, "configmap/b\tConfigMap PLACE/b\n" + noFiles},
		{"namespaces", []string{"ls", "-n", p.namespace[:len(p.namespace)-1]}, "PLACE\n" + noFiles},
		{"values of a flag that allows few", []string{"apply", "--adopt", ""}, "never\nif-unowned\nalways\n" + noFiles},
		{"formats", []string{"ls", "-o", "j"}, "json\njsonpath\njsonpath-as-json\njsonpath-file\n" + noFiles},
		{"states", []string{"ls", "--state", "F"}, "Failed\n" + noFiles},
		{"types of events", []string{"events", "--types", ""}, "Normal\nWarning\n" + noFiles},
		{"a release that an object comes from", []string{"move", "configmap/a", "--from", "web."}, "web.example.com\n" + noFiles},
		{
			"flags that are required",
			[]string{"move", "configmap/a", ""},
			"--from\trelease that has the objects (required)\n--to\trelease that gets the objects (required)\n" + noFiles,
		},
		{"objects of the release that has them", []string{"move", "--to", "web", "--from", "web.example.com", ""}, "configmap/c\tConfigMap PLACE/c\n" + noFiles},
		{"objects that are not moved yet", []string{"move", "configmap/a", "--to", "x", "--from", "web", ""}, "configmap/b\tConfigMap PLACE/b\n" + noFiles},
		{"namespaces of releases", []string{"move", "--to-namespace", p.namespace[:len(p.namespace)-1]}, "PLACE\n" + noFiles},
		{"releases, which need not be named", []string{"doctor", "web."}, "web.example.com\n" + noFiles},
		{"nothing", []string{"ls", ""}, noFiles},
		{"a cluster that does not answer is no concern of somebody who types", []string{"status", "--server", "https://127.0.0.1:1", ""}, noFiles},
	} {
		if diff := cmp.Diff(test.want, p.offers(test.words...)); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", test.reason, test.words, diff)
		}
	}
	if got := p.offers("ls", "--context", ""); !strings.HasSuffix(got, noFiles) || len(got) == len(noFiles) {
		t.Errorf("contexts of the kubeconfig should be offered, got %s", got)
	}
	p.must("delete", "web")
	p.must("delete", "web.example.com")
}
