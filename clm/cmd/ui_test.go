// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/testenv"
)

// visitor is a browser without scripts at the pages of clm ui.
type visitor struct {
	*place

	client http.Client
	base   string
	output *testenv.Output
}

// visit starts clm ui, and opens the address that it prints.
func (p *place) visit(args ...string) *visitor {
	p.Helper()
	output := &testenv.Output{}
	interrupt, _ := p.follow(output, append([]string{"ui"}, args...)...)
	jar, _ := cookiejar.New(nil)
	v := &visitor{place: p, output: output, client: http.Client{Jar: jar, Transport: &http.Transport{}}}
	p.Cleanup(func() {
		if code := interrupt(); code != exitInterrupted {
			p.Errorf("clm ui ended with exit code %d:\n%s", code, output)
		}
		v.client.CloseIdleConnections()
	})
	printed := regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+/login\?token=\w+\n`)
	testenv.Eventually(p, func() (bool, string) { return printed.MatchString(output.String()), output.String() })
	address := strings.TrimSpace(printed.FindString(output.String()))
	v.base, _, _ = strings.Cut(address, "/login")
	v.get(strings.TrimPrefix(address, v.base), http.StatusOK)
	return v
}

// open sends a request. The caller closes the body.
func (v *visitor) open(request *http.Request, err error) *http.Response {
	v.Helper()
	if err != nil {
		v.Fatal(err)
	}
	response, err := v.client.Do(request)
	if err != nil {
		v.Fatal(err)
	}
	return response
}

func (v *visitor) do(request *http.Request, err error, code int) string {
	v.Helper()
	response := v.open(request, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		v.Fatal(err)
	}
	if response.StatusCode != code {
		v.Fatalf("%s %s: %s\n%s", request.Method, request.URL, response.Status, body)
	}
	return string(body)
}

// get returns the page at a path.
func (v *visitor) get(path string, code int) string {
	v.Helper()
	request, err := http.NewRequestWithContext(v.Context(), http.MethodGet, v.base+path, http.NoBody)
	return v.do(request, err, code)
}

// post sends a form, and returns the page to which that leads.
func (v *visitor) post(path string, code int, fields ...string) string {
	v.Helper()
	form := url.Values{}
	for _, field := range fields {
		key, value, _ := strings.Cut(field, "=")
		form.Set(key, value)
	}
	request, err := http.NewRequestWithContext(v.Context(), http.MethodPost, v.base+path, strings.NewReader(form.Encode()))
	if err == nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return v.do(request, err, code)
}

// named returns a text with the namespace for PLACE, and the beginning of all paths for ROOT.
func (v *visitor) named(text string) string {
	address, _ := url.Parse(v.base)
	return strings.NewReplacer("PLACE", v.namespace, "ROOT", address.Path).Replace(text)
}

// release returns the path of a page about a release.
func (v *visitor) release(name, view string) string {
	return "/o/releases/" + v.namespace + "/" + name + "/" + view
}

// shows reads the stream of a page until it has a text.
func (v *visitor) shows(path, text string) {
	v.Helper()
	text = v.named(text)
	ctx, stop := context.WithTimeout(v.Context(), testenv.Patience())
	defer stop()
	response := v.open(http.NewRequestWithContext(ctx, http.MethodGet, v.base+path, http.NoBody))
	defer response.Body.Close()
	said := ""
	for lines := bufio.NewScanner(response.Body); lines.Scan(); said += lines.Text() + "\n" {
		if strings.Contains(lines.Text(), text) {
			return
		}
		if strings.HasPrefix(lines.Text(), "event: ") {
			said = "" // only what is shown last is of interest
		}
	}
	v.Fatalf("%s does not show %q:\n%s", path, text, said)
}

// expectPage compares texts of a page.
func (v *visitor) expectPage(page string, texts ...string) {
	v.Helper()
	for _, text := range texts {
		text = v.named(text)
		if rest, isAbsent := strings.CutPrefix(text, "!"); isAbsent {
			if strings.Contains(page, rest) {
				v.Errorf("unexpected %q in:\n%s", rest, page)
			}
		} else if !strings.Contains(page, text) {
			v.Errorf("%q is missing in:\n%s", text, page)
		}
	}
}

var planPath = regexp.MustCompile(`action="/\w+(/plans/\w+)"`)

// plan requests a plan, and returns the path to carry it out and the page that shows it.
func (v *visitor) plan(release string, fields ...string) (path, page string) {
	v.Helper()
	page = v.post(v.release(release, "plan"), http.StatusOK, fields...)
	found := planPath.FindStringSubmatch(page)
	if found == nil {
		v.Fatalf("there is no plan to carry out:\n%s", page)
	}
	return found[1], page
}

// TestUIFollowsAWave watches a release that waits, from the list and from its own page.
func TestUIFollowsAWave(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	v := p.visit()
	v.expectPage(v.get("/", http.StatusOK), "namespace PLACE, read-only", `data-stream="ROOT/stream?"`)
	v.shows("/stream", "No releases or components found in namespace PLACE.")
	v.shows(v.release("web", "tree/stream"), "release PLACE/web does not exist.")
	command, output := p.start("apply", "web", p.gated("1"))
	p.reachGate()
	v.shows("/stream", `<a href="ROOT/o/releases/PLACE/web/tree">web</a>`)
	stream := v.release("web", "tree/stream")
	v.shows(stream, "<em>waits for wave 0: Service PLACE/gate is not ready</em>")
	v.shows(stream, `<b>Service PLACE/gate</b> InProgress: condition Open is missing`)
	v.shows(stream, "has been working on it for ")
	v.expectPage(v.get(v.release("web", "timeline"), http.StatusOK), "Service PLACE/gate: applied &#43;", ", not ready for ", "ConfigMap PLACE/first: applied &#43;")
	opened := make(chan struct{})
	go func() { defer close(opened); v.shows(stream, `<dd><span class="green">Ready</span> (for `) }()
	p.openGate()
	<-opened
	p.ended(command, output, 0)
	v.expectPage(v.get(v.release("web", "timeline"), http.StatusOK), "ConfigMap PLACE/last: applied &#43;", "ready after ", "!not ready for")
	v.report("first", corev1.EventTypeWarning, "Strange")
	v.shows(v.release("web", "events/stream"), "<td>Strange</td>")
	v.expectPage(v.get("/open?name=web", http.StatusOK), "release PLACE/web")
	v.expectPage(v.get(v.release("web", "nothing"), http.StatusNotFound), "must be one of tree, timeline, events, logs, drift, history, values, manifest")
	v.expectPage(v.get(v.release("none", "history"), http.StatusOK), `data-stream=`)
	v.expectPage(v.get(v.release("none", "values"), http.StatusNotFound), "release PLACE/none: not found; existing releases: PLACE/web")
	v.expectPage(v.get("/open?name=nonsense/x", http.StatusNotFound), "no matches for")
}

// TestUIAsksOnce has two tabs that share their requests, and follow an event without a further one.
func TestUIAsksOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")))
	v := p.visit("-v", "6")
	tree, events := v.release("web", "tree/stream"), v.release("web", "events/stream")
	open := v.open(http.NewRequestWithContext(t.Context(), http.MethodGet, v.base+tree, http.NoBody))
	defer open.Body.Close()
	v.shows(tree, "ConfigMap</span> PLACE/a")
	v.shows(events, "No events found.")
	count := func(pattern string) int { return len(regexp.MustCompile(pattern).FindAllString(v.output.String(), -1)) }
	const watch = `url="[^"]*metadata\.name%3Dclm\.web[^"]*watch=true`
	testenv.Eventually(t, func() (bool, string) { // the record is read again when its watch has begun
		return count(watch) > 0 && count(`url="[^"]*/secrets/clm\.web"`) > 1, v.output.String()
	})
	before := count(`verb="GET"`)
	p.report("a", corev1.EventTypeNormal, "Strange")
	v.shows(events, "<td>Strange</td>")
	if more := count(`verb="GET"`) - before; more != 0 || count(watch) != 1 {
		t.Errorf("want one watch of the record, got %d, and no request after the event, got %d:\n%s", count(watch), more, v.output)
	}
}

// TestUIChanges corrects drift, rolls back, applies a saved plan and deletes, each as a plan that is shown first.
func TestUIChanges(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("one.yaml", configMap("a", "1")+configMap("b", "1")))
	two := p.file("two.yaml", configMap("a", "2")+configMap("c", "2"))
	p.must("apply", "web", two)
	reader, v := p.visit(), p.visit("--allow-changes")

	// Without --allow-changes, nothing is offered, and nothing can be requested.
	tree := reader.release("web", "tree")
	reader.expectPage(reader.get(tree, http.StatusOK), "read-only", "!<form method")
	for _, operation := range []string{"correct", "rollback", "saved", "delete"} {
		reader.post(reader.release("web", "plan"), http.StatusMethodNotAllowed, "operation="+operation)
	}
	reader.get("/plans/x", http.StatusNotFound)
	v.get(v.release("web", "plan"), http.StatusNotFound) // a link changes nothing

	// Drift: looked at, planned, corrected.
	v.expectPage(v.get(v.release("web", "drift"), http.StatusOK), "release PLACE/web has not drifted from revision 2", "!Correct drift")
	p.change("a", "stolen")
	v.expectPage(v.get(v.release("web", "drift"), http.StatusOK), `<span class="green">+  value: stolen</span>`, "changed by somebody", "Correct drift…")
	correct, page := v.plan("web", "operation=correct")
	v.expectPage(page, `<span class="red">-  value: stolen</span>`, "Correct the drift")
	v.post(correct, http.StatusOK)
	v.shows(v.release("web", "tree/stream"), "release PLACE/web, revision 2, is ready")
	p.expectData("a", value("2"))
	v.post(correct, http.StatusNotFound) // a plan is carried out once

	// Rollback. Of two plans, the second one is stale after the first one was carried out.
	v.expectPage(v.get(v.release("web", "history"), http.StatusOK), `<tr id="revision-1">`, "Roll back…", "!<tr id=\"revision-3\">")
	stale, _ := v.plan("web", "operation=rollback", "revision=1")
	rollback, page := v.plan("web", "operation=rollback", "revision=1")
	v.expectPage(page, "Roll release PLACE/web back to revision 1", "value: &#34;1&#34;", "1 to create", "1 to delete")
	v.post(rollback, http.StatusOK)
	v.shows(v.release("web", "tree/stream"), "release PLACE/web, revision 3, is ready")
	v.post(stale, http.StatusOK)
	v.shows(v.release("web", "tree/stream"), `<section id="job" class="job red">`)
	p.expectData("a", value("1"))

	// A plan of the command line, and one that is none.
	saved := filepath.Join(t.TempDir(), "web.plan")
	p.must("plan", "web", two, "--out", saved)
	apply, page := v.upload("web", saved, http.StatusOK)
	v.expectPage(page, "Apply a saved plan to release PLACE/web", "new revision 4")
	v.post(apply, http.StatusOK)
	v.shows(v.release("web", "tree/stream"), "release PLACE/web, revision 4, is ready")
	_, page = v.upload("web", saved, http.StatusConflict)
	v.expectPage(page, "is stale: it was created for revision 3")
	_, page = v.upload("web", two, http.StatusInternalServerError)
	v.expectPage(page, "is not a saved plan")

	// Deletion needs the name.
	remove, page := v.plan("web", "operation=delete")
	v.expectPage(page, "2 objects will be deleted:", "ConfigMap PLACE/a", "To confirm, enter the name of the release")
	v.expectPage(v.post(remove, http.StatusConflict, "name=wed"), "to confirm, enter &#34;web&#34;; nothing was changed")
	p.expectData("a", value("2"))
	v.post(remove, http.StatusOK, "name=web")
	testenv.Eventually(t, func() (bool, string) { return p.configMap("a") == nil, "the ConfigMap still exists" })
	v.shows(v.release("web", "tree/stream"), "release PLACE/web does not exist.")
	v.expectPage(v.post(v.release("web", "plan"), http.StatusNotFound, "operation=delete"), "not found")
	v.expectPage(v.post(v.release("web", "plan"), http.StatusConflict, "operation=other"), "must be one of correct, rollback, saved, delete")
}

// expectData compares the data of a ConfigMap.
func (p *place) expectData(name string, want map[string]string) {
	p.Helper()
	if got := p.configMap(name); got["value"] != want["value"] {
		p.Errorf("ConfigMap %s has %v; want %v", name, got, want)
	}
}

// upload uploads a file as a saved plan.
func (v *visitor) upload(release, file string, code int) (path, page string) {
	v.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		v.Fatal(err)
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("operation", "saved")
	part, _ := form.CreateFormFile("plan", "plan")
	_, _ = part.Write(content)
	_ = form.Close()
	request, err := http.NewRequestWithContext(v.Context(), http.MethodPost, v.base+v.release(release, "plan"), &body)
	if err == nil {
		request.Header.Set("Content-Type", form.FormDataContentType())
	}
	page = v.do(request, err, code)
	if found := planPath.FindStringSubmatch(page); found != nil {
		path = found[1]
	}
	return path, page
}

// TestUIMasksAndEscapes has secrets in values, manifests and differences, and HTML in all texts that others write.
func TestUIMasksAndEscapes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const html, secret = `<img src=x onerror=alert(1)>`, "hunter2-hunter2"
	chart := t.TempDir()
	p.write(filepath.Join(chart, "Chart.yaml"), "{apiVersion: v2, name: login, version: 1.0.0}")
	template := "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: '{{ .Values.password }}', pin: '{{ .Values.pin }}', file: 'user={{ .Values.password }}'}\n"
	p.write(filepath.Join(chart, "templates", "secret.yaml"), template)
	p.must("apply", "web", chart, "--set", "password="+secret+",pin=1234,plain=visible", "--description", html)
	v := p.visit()
	p.as("somebody", corev1.SchemeGroupVersion.WithKind("Secret"), "login", `{"stringData":{"password":"`+secret+`-stolen"}}`)
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "strange"}, Type: corev1.EventTypeWarning, Reason: "Strange", Message: html,
		FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(),
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: p.namespace, Name: "login"},
	}
	p.create(event)
	v.shows(v.release("web", "events/stream"), "&lt;img")
	for _, view := range []string{"tree", "timeline", "events", "logs", "drift", "history", "values", "manifest"} {
		page := v.get(v.release("web", view), http.StatusOK)
		v.expectPage(page, "!"+secret, "!<img", "!1234\n")
	}
	v.expectPage(v.get(v.release("web", "values"), http.StatusOK), "password: &#39;***&#39;", "pin: &#39;***&#39;", "plain: visible", "clm get values web -n PLACE --revision 1")
	v.expectPage(v.get(v.release("web", "history"), http.StatusOK), "&lt;img src=x onerror=alert(1)&gt;")
	v.expectPage(v.get(v.release("web", "drift"), http.StatusOK), "*** (", "changed by somebody")
}

// TestUIInOneNamespace has a user who may read only one namespace, and one who may do nothing.
func TestUIInOneNamespace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")))
	user := p.user("reader", rule("*", "*", "get", "list", "watch"))
	reader := p.visit(user)
	reader.shows("/stream", ">web</a>")
	reader.shows(reader.release("web", "tree/stream"), "ConfigMap")
	everywhere := p.visit("-A", user)
	everywhere.shows("/stream", "releases are not shown: watching the records of all releases: ")
	nobody := p.visit(p.user("nobody"))
	nobody.shows("/stream", "cannot list resource &#34;secrets&#34;")
	nobody.shows(nobody.release("web", "tree/stream"), `cannot get resource "secrets"`)
}

// TestUIShowsComponents lists components of any operator, and shows one as clm status does.
func TestUIShowsComponents(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.installParcelServices()
	demo := testenv.Object(t, "{apiVersion: example.io/v1alpha1, kind: ParcelService, metadata: {name: ui}, spec: {region: nowhere}}")
	p.create(demo)
	v := p.visit("--allow-changes")
	testenv.Eventually(t, func() (bool, string) { // the schemas are published after the type
		page := v.get("/", http.StatusOK)
		return strings.Contains(page, v.named(`<a href="ROOT/o/parcelservices.example.io/PLACE/ui/tree">ui</a>`)), page
	})
	status := `{"status":{"state":"Error","observedGeneration":1,"processingDigest":"x","conditions":[{"type":"Ready","status":"False","reason":"Error","message":"no <b>luck</b>","observedGeneration":1}]}}`
	if err := p.client.Status().Patch(t.Context(), demo, client.RawPatch(apitypes.MergePatchType, []byte(status))); err != nil {
		t.Fatal(err)
	}
	v.shows("/stream", "no &lt;b&gt;luck&lt;/b&gt;")
	v.shows("/o/parcelservices.example.io/"+p.namespace+"/ui/tree/stream", "Error, Error")
	v.expectPage(v.get("/open?name=parcelservice/ui", http.StatusOK), "ParcelService PLACE/ui", "!Correct drift", "!>history<")
	v.expectPage(v.post("/o/parcelservices.example.io/"+p.namespace+"/ui/plan", http.StatusConflict, "operation=delete"), "its operator changes it; clm changes only releases")
}

// TestK9sPlugins runs the commands of the plugins, as k9s does on a Secret with the record of a release.
func TestK9sPlugins(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("one.yaml", configMap("a", "1")))
	p.must("apply", "web", p.file("two.yaml", configMap("a", "2")))
	content, err := os.ReadFile("../../examples/k9s/plugins.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Plugins map[string]struct {
			ShortCut, Description, Command string
			Scopes, Args                   []string
		}
	}
	if err := yaml.UnmarshalStrict(content, &file); err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	for name, script := range map[string]string{
		"clm":  fmt.Sprintf("%s=1 exec %q \"$@\" --kubeconfig %q\n", clmVariable, os.Args[0], p.kubeconfig),
		"less": "cat\n",
	} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	wants := map[string]string{"clm-tree": "ConfigMap ", "clm-history": "two.yaml", "clm-diff": "2", "clm-component-tree": "is no component"}
	for name, plugin := range file.Plugins {
		if plugin.ShortCut == "" || plugin.Description == "" || len(plugin.Scopes) == 0 {
			t.Errorf("%s is not complete", name)
		}
		command := exec.CommandContext(t.Context(), plugin.Command, plugin.Args...)
		command.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "NAME=clm.web", "NAMESPACE="+p.namespace, "CONTEXT=", "RESOURCE_NAME=secrets", "RESOURCE_GROUP=")
		command.Stdin = strings.NewReader("1\n")
		output, err := command.CombinedOutput()
		if err != nil || wants[name] == "" || !strings.Contains(string(output), wants[name]) {
			t.Errorf("%s: %v; want %q in:\n%s", name, err, wants[name], output)
		}
		delete(wants, name)
	}
	if len(wants) > 0 {
		t.Errorf("there are no plugins %v", wants)
	}
}
