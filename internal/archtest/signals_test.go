// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/metrics"
)

// signalPages are the pages of the reference that list what operators tell those who run them.
var signalPages = []string{"conditions.md", "objectset-conditions.md", "events-and-log.md", "metrics.md"}

// signalRooms are the folders of the code that runs in operators, and logs or writes events.
var signalRooms = []string{"pkg/component", "pkg/reconciler", "pkg/inventory", "pkg/objectset", "internal/shards", "internal/observe"}

// signal is a text in the code by which an operator tells something.
type signal struct{ kind, text, at string }

// TestSignalsAreListed fails if the pages lack a section about a reason of a condition, or an event, a line of the log,
// or a metric with its type and labels; or if they have one that the code lacks.
func TestSignalsAreListed(t *testing.T) {
	t.Parallel()
	listed := map[string]map[string]bool{}
	for _, page := range signalPages {
		section, start := "", ""
		for line := range strings.Lines(read(t, filepath.Join(top, "website/content/reference", page))) {
			if heading, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
				section, start = heading, "| `"
				listed[section] = map[string]bool{}
				if section == "Reasons" || section == "Reasons of ObjectSets" {
					start = "### `" // each has a section of its own
				}
			}
			if rest, ok := strings.CutPrefix(line, start); ok && section != "" {
				name, _, _ := strings.Cut(rest, "`")
				listed[section][name] = true
			}
		}
	}
	found := map[string]map[string]bool{"Reasons": {}, "Reasons of ObjectSets": {}, "Events": {}, "Log": {}, "Metrics": {}}
	for _, s := range append(signalsOfCode(t), signalsOfMetrics(t)...) {
		found[s.kind][s.text] = true
		if !listed[s.kind][s.text] {
			t.Errorf("%s: %q is missing in the section %s of %s", s.at, s.text, s.kind, strings.Join(signalPages, ", "))
		}
	}
	for kind, texts := range found {
		if len(texts) < 8 {
			t.Errorf("only %d signals were found for the section %s", len(texts), kind)
		}
		for text := range listed[kind] {
			if !texts[text] {
				t.Errorf("the section %s has %q, which the code lacks", kind, text)
			}
		}
	}
}

// TestAlertRules looks for the metrics of the alert rules.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../examples/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal(raw, &rules); err != nil || len(rules.Groups) != 1 || len(rules.Groups[0].Rules) < 5 {
		t.Fatalf("got %+v, %v", rules, err)
	}
	known := currentMetrics(t)
	for _, rule := range rules.Groups[0].Rules {
		names := metricNames.FindAllString(rule.Expr, -1)
		if rule.Alert == "" || len(names) == 0 || rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" {
			t.Errorf("incomplete rule: %+v", rule)
		}
		for _, name := range names {
			if !known[name] {
				t.Errorf("%s: there is no metric %s", rule.Alert, name)
			}
		}
	}
}

// TestDashboard looks for the metrics of the dashboard, and for panels that lie on others.
func TestDashboard(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../examples/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil || len(dashboard.Panels) < 5 {
		t.Fatalf("got %+v, %v", dashboard, err)
	}
	known, shown := currentMetrics(t), map[string]bool{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			names := metricNames.FindAllString(target.Expr, -1)
			if len(names) == 0 || strings.Count(target.Expr, "(") != strings.Count(target.Expr, ")") {
				t.Errorf("%s: invalid expression %q", panel.Title, target.Expr)
			}
			for _, name := range names {
				name = strings.TrimSuffix(name, "_bucket")
				shown[name] = true
				if !known[name] {
					t.Errorf("%s: there is no metric %s", panel.Title, name)
				}
			}
		}
	}
	for name, current := range known {
		if current && !shown[name] && !slices.Contains([]string{"component_operator_runtime_dependents", "component_operator_runtime_created_clients_total"}, name) {
			t.Errorf("no panel shows %s", name)
		}
	}
}

var metricNames = regexp.MustCompile(`component_operator_runtime_\w+`)

// currentMetrics has the metrics; those that are deprecated with the value false.
func currentMetrics(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, s := range signalsOfMetrics(t) {
		known[s.text] = !strings.HasSuffix(s.text, "dependents_total") && !strings.HasSuffix(s.text, "active_clients_total")
	}
	return known
}

// signalsOfMetrics returns the metrics, with their types and labels.
func signalsOfMetrics(t *testing.T) []signal {
	t.Helper()
	registry := prometheus.NewRegistry()
	c, err := metrics.New(registry, "a")
	if err != nil {
		t.Fatal(err)
	}
	c.Reconciled(os.ErrInvalid)
	c.Operated("read")
	c.ClientCreated()
	c.ClientsActive(1)
	c.SetComponent(metrics.Component{}, "Ready", "Ready", 1, 1)
	c.Generated(1)
	c.BecameReady(1)
	c.ShardsHeld(1)
	c.RolloutComponents("Waiting", 1)
	c.TypeMissing(true)
	_, _ = c.Requests(noTransport{}).RoundTrip(newRequest(t))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var found []signal
	for _, family := range families {
		found = append(found, signal{"Metrics", family.GetName(), "internal/metrics"})
	}
	return found
}

// signalsOfCode returns what is in the code.
func signalsOfCode(t *testing.T) []signal {
	t.Helper()
	var found []signal
	for _, room := range signalRooms {
		err := filepath.WalkDir(filepath.Join("../..", room), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool {
				found = append(found, signalsOf(node, path)...)
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func signalsOf(node ast.Node, path string) []signal {
	switch node := node.(type) {
	case *ast.ValueSpec:
		if len(node.Values) == 1 && strings.HasPrefix(node.Names[0].Name, "ReadyConditionReason") {
			if text, ok := literal(node.Values[0]); ok {
				return []signal{{"Reasons", text, path}}
			}
		}
		if len(node.Values) == 1 && strings.HasPrefix(node.Names[0].Name, "Reason") && strings.HasSuffix(path, "objectset/v1alpha1/types.go") {
			if text, ok := literal(node.Values[0]); ok {
				return []signal{{"Reasons of ObjectSets", text, path}}
			}
		}
		if len(node.Values) == 1 && strings.HasPrefix(node.Names[0].Name, "Verb") && strings.HasSuffix(path, "inventory/plan.go") {
			if text, ok := literal(node.Values[0]); ok {
				return []signal{{"Events", text, path}, {"Log", strings.ToLower(text) + " a dependent", path}}
			}
		}
	case *ast.CallExpr:
		selector, ok := node.Fun.(*ast.SelectorExpr)
		if !ok {
			return nil
		}
		arguments := map[string]int{"Info": 0, "Error": 1, "warn": 0, "Warn": 0, "tell": 0, "Inform": 0, "Event": 2, "logProblem": 0}
		at, known := arguments[selector.Sel.Name]
		if !known {
			return nil
		}
		last := at
		if selector.Sel.Name == "warn" || selector.Sel.Name == "tell" { // the subject may come first
			last++
		}
		for i := at; i < len(node.Args) && i <= last; i++ {
			if text, ok := literal(node.Args[i]); ok {
				kind := "Events"
				if slices.Contains([]string{"Info", "Error", "logProblem"}, selector.Sel.Name) {
					kind = "Log"
				}
				return []signal{{kind, text, path}}
			}
		}
	}
	return nil
}

// literal returns the text of a string literal.
func literal(expression ast.Expr) (string, bool) {
	basic, ok := expression.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(basic.Value)
	return text, err == nil
}

// noTransport answers nothing.
type noTransport struct{}

func (noTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, os.ErrInvalid }

func newRequest(t *testing.T) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost", nil)
	if err != nil {
		t.Fatal(err)
	}
	return request
}
