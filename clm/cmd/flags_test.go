// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestNoFlagHidesAGlobalOne makes sure that flags of kubectl mean the same with all commands.
func TestNoFlagHidesAGlobalOne(t *testing.T) {
	t.Parallel()
	root := newCommand()
	harmless := map[string]bool{
		// No cluster is asked unless this is given; which one it is can be said by --context and --kubeconfig.
		"clm template --server": true,
		// These do not connect to a cluster, but make one.
		"clm sandbox up --kubeconfig": true, "clm sandbox down --kubeconfig": true, "clm sandbox supervise --kubeconfig": true,
	}
	var visit func(command *cobra.Command)
	visit = func(command *cobra.Command) {
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			name := command.CommandPath() + " --" + flag.Name
			if command != root && root.PersistentFlags().Lookup(flag.Name) != nil && !harmless[name] {
				t.Errorf("%s hides the flag that all commands have", name)
			}
		})
		for _, child := range command.Commands() {
			visit(child)
		}
	}
	visit(root)
}

// TestBadInput gives commands invalid input. They fail before they ask or do anything.
func TestBadInput(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("a", "1"))
	for _, test := range []struct {
		reason string
		args   []string
		want   string
	}{
		{"a time may not be before now", []string{"apply", "web", source, "--timeout", "-5s"}, `"-5s" is not a valid duration, such as 90s`},
		{"less than nothing cannot be kept", []string{"apply", "web", source, "--history-max", "-1"}, `"-1" is not a whole number greater than or equal to 0`},
		{"a unit that there is not", []string{"rollback", "web", "--history-max-bytes", "10MB"}, `"10MB" is not a number of bytes`},
		{"a variable was not set", []string{"plan", "web", source, "--out", ""}, `"--out" flag: a file name is missing`},
		{"standard input is read once", []string{"plan", "web", "-", "-"}, "standard input can be read only once"},
		{"there is no such file", []string{"plan", "web", "none.yaml"}, "none.yaml: no such file"},
		{"there are no such rules", []string{"plan", "web", source, "--policy-rules", "none.yaml"}, "reading policy rules: open none.yaml"},
		{"there is no such policy", []string{"apply", "web", source, "--adopt", "maybe"}, `"maybe" is not one of never, if-unowned, always`},
		{"more than all cannot be deleted", []string{"apply", "web", source, "--max-deletions", "101%"}, "a percentage from 0% to 100%"},
		{"a form that a command does not have", []string{"apply", "web", source, "-o", "yaml"}, `"yaml" is not one of json`},
		{"a plan has no form for programs", []string{"apply", "web", source, "--dry-run=server", "-o", "json"}, "flags --output and --dry-run are mutually exclusive"},
		{"a saved plan does not say whose fields it takes", []string{"apply", "web", "--plan", source, "--conflicts=refuse"}, "[conflicts plan]"},
		{"a plan has its values in it", []string{"apply", "web", "--plan", "web.plan", "--set", "a=b"}, "[plan set] were all set"},
		{"a form that no command has", []string{"ls", "-o", "xml"}, `flag --output: unable to match a printer suitable for the output format "xml", allowed formats are`},
		{"an empty name", []string{"apply", "", source}, `invalid release name ""`},
		{"a name that is too long for a Secret", []string{"plan", strings.Repeat("x", 250), source}, "characters, but has 250"},
		{"a namespace that cannot be", []string{"plan", "web", source, "-n", "a.b"}, `flag --namespace: "a.b" is not a valid namespace name`},
		{"which release?", []string{"delete"}, "NAME is missing; usage: clm delete NAME"},
		{"a letter is missing", []string{"aply", "web", source}, "unknown command \"aply\" for \"clm\"\n\nDid you mean this?\n\tapply\n"},
		{"below a command", []string{"get", "valeus", "web"}, "unknown command \"valeus\" for \"clm get\"; did you mean values?\n"},
		{"a letter is too many", []string{"apply", "web", source, "--valuess", "a.yaml"}, "unknown flag: --valuess; did you mean --values?\n"},
		{"a chart of another tool", []string{"plan", "web", "bitnami/nginx"}, "no such file or directory; nor is it REPO/CHART: there is no repository bitnami; "},
		{"a document that is no object", []string{"template", "web", p.file("text.yaml", "hello\n")}, "document 1: it is not an object, but text\n"},
	} {
		p.stdin = configMap("a", "1")
		args := test.args
		if !slices.Contains(args, "-n") {
			args = append(slices.Clone(args), "--namespace", p.namespace)
		}
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), streams{in: strings.NewReader(p.stdin), out: &stdout, err: &stderr}, append(args, "--kubeconfig", p.kubeconfig))
		if code != 1 || stdout.Len() > 0 || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%s: clm %s: expected an error with %q, got exit code %d, %s%s", test.reason, strings.Join(test.args, " "), test.want, code, stdout.String(), stderr.String())
		}
	}
}

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
