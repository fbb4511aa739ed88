// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
)

// Options configure Serve.
type Options struct {
	// Connection to the cluster. The caller closes it after Serve. Required.
	Connection *runner.Connection
	// Namespace whose releases and components are listed. Defaults to all.
	Namespace string
	// Context is the kubeconfig context to show; may be empty.
	Context string
	// AllowChanges offers to correct drift, to roll back, to delete, and to apply saved plans. Defaults to false.
	AllowChanges bool
	// Changes are the options of these operations.
	Changes operation.Options
}

// Serve serves the pages until the context ends, and then returns nil. It interrupts running operations, as Ctrl-C does for
// commands. It calls announce with the address that contains the token. The listener must be on a loopback address; Serve
// closes it.
func Serve(ctx context.Context, listener net.Listener, options Options, announce func(url string)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &site{Options: options, Root: "/" + rand.Text(), feeds: newFeeds(ctx), jobs: jobs{ctx: ctx, current: map[string]*job{}}}
	gate, err := newGatekeeper(listener.Addr(), s.Root, s.routes())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := gate.server()
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	announce(gate.url())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = nil
	}
	stop()
	err = errors.Join(err, server.Close())
	s.jobs.running.Wait()
	s.feeds.running.Wait()
	s.plans.close()
	return err
}

// site holds what the handlers share.
type site struct {
	Options

	// Root is the beginning of the paths of all pages.
	Root  string
	feeds *feeds
	plans plans
	jobs  jobs
}

//go:embed static
var static embed.FS

//go:embed templates
var templateFiles embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"ago": ago, "sources": releases.PinnedTexts}).ParseFS(templateFiles, "templates/*.html"))

// ago returns how long ago something happened.
func ago(then time.Time) string { return display.KnownAge(then, time.Now()) }

func (s *site) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /static/", http.FileServerFS(static))
	mux.HandleFunc("GET /{$}", s.showList)
	mux.HandleFunc("GET /stream", s.streamList)
	mux.HandleFunc("GET /open", s.open)
	mux.HandleFunc("GET /o/{type}/{namespace}/{name}/{view}", s.showTarget)
	mux.HandleFunc("GET /o/{type}/{namespace}/{name}/{view}/stream", s.streamTarget)
	if s.AllowChanges {
		mux.HandleFunc("POST /o/{type}/{namespace}/{name}/plan", s.makePlan)
		mux.HandleFunc("GET /plans/{id}", s.showPlan)
		mux.HandleFunc("POST /plans/{id}", s.applyPlan)
	}
	return mux
}

// page is the data of the template of all pages.
type page struct {
	*site

	Title string
	// Target is nil on the list.
	Target *targetView
	// View is the name of the page about the target, Stream the address of the stream that replaces its content; empty
	// if it does not change.
	View, Stream string
	Content      template.HTML
}

// targetView is a target in a page.
type targetView struct {
	views.Target

	// Path is the beginning of the addresses of its pages, Views are their names.
	Path  string
	Views []string
}

// releaseType is the type of releases in addresses; that of components has a dot.
const releaseType = "releases"

// noNamespace stands for the namespace of cluster-scoped components in addresses.
const noNamespace = "-"

// pathOf returns the beginning of the addresses of the pages about a target.
func (s *site) pathOf(resource, namespace, name string) string {
	return s.Root + "/o/" + url.PathEscape(resource) + "/" + url.PathEscape(cmp.Or(namespace, noNamespace)) + "/" + url.PathEscape(name)
}

// target returns what the address of a request names.
func (s *site) target(r *http.Request) (*targetView, error) {
	kind, namespace, name := r.PathValue("type"), r.PathValue("namespace"), r.PathValue("name")
	if kind == releaseType {
		return &targetView{
			Target: views.Target{Namespace: namespace, Name: name}, Path: s.pathOf(kind, namespace, name),
			Views: []string{"tree", "timeline", "events", "logs", "drift", "history", "values", "manifest"},
		}, errors.Join(releases.ValidateName(name), nameError("namespace", namespace))
	}
	mapping, err := mappingOf(s.Connection, kind)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = ""
	}
	found := &targetView{
		Target: views.Target{Mapping: mapping, Namespace: namespace, Name: name}, Path: s.pathOf(mapping.Resource.GroupResource().String(), namespace, name),
		Views: []string{"tree", "timeline", "events", "logs"},
	}
	if found.HasSets() {
		found.Views = []string{"tree", "events", "logs"}
	}
	return found, errors.Join(nameError("name", name), nameError("namespace", namespace))
}

// nameError returns the error for a name that no object can have; nil for others.
func nameError(what, name string) error {
	if problems := content.IsPathSegmentName(name); len(problems) > 0 {
		return fmt.Errorf("%s %q: %s", what, name, strings.Join(problems, ", "))
	}
	return nil
}

// viewOf returns the target of a request, and the name of the view.
func (s *site) viewOf(r *http.Request) (*targetView, string, error) {
	target, err := s.target(r)
	name := r.PathValue("view")
	if err == nil && !slices.Contains(target.Views, name) {
		err = fmt.Errorf("there is no page %q about %s; must be one of %s", name, target.Target, strings.Join(target.Views, ", "))
	}
	return target, name, err
}

// mappingOf returns the type with a resource name, such as "webshops.example.org".
func mappingOf(c *runner.Connection, resource string) (*meta.RESTMapping, error) {
	mapper := c.Client().RESTMapper()
	kind, err := mapper.KindFor(schema.ParseGroupResource(resource).WithVersion(""))
	if err != nil {
		return nil, err
	}
	return mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// open redirects to the page about NAME or TYPE/NAME.
func (s *site) open(w http.ResponseWriter, r *http.Request) {
	namespace, name := cmp.Or(r.FormValue("namespace"), s.Namespace, "default"), r.FormValue("name")
	kind, component, isComponent := strings.Cut(name, "/")
	if !isComponent {
		http.Redirect(w, r, s.pathOf(releaseType, namespace, name)+"/tree", http.StatusSeeOther)
		return
	}
	mapping, err := mappingOf(s.Connection, kind)
	if err != nil {
		s.fail(w, http.StatusNotFound, err)
		return
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = ""
	}
	http.Redirect(w, r, s.pathOf(mapping.Resource.GroupResource().String(), namespace, component)+"/tree", http.StatusSeeOther)
}

// fail shows an error as a page.
func (s *site) fail(w http.ResponseWriter, code int, err error) {
	s.write(w, code, page{site: s, Title: "Error", Content: template.HTML("<p class=\"red\">" + template.HTMLEscapeString(err.Error()) + "</p>")}) //nolint:gosec // escaped
}

func (s *site) write(w http.ResponseWriter, code int, p page) {
	html, err := rendered("page", p)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(html))
}

// rendered returns what a template makes of data.
func rendered(name string, data any) (template.HTML, error) {
	var text bytes.Buffer
	if err := templates.ExecuteTemplate(&text, name, data); err != nil {
		return "", fmt.Errorf("rendering %s: %w", name, err)
	}
	return template.HTML(text.String()), nil //nolint:gosec // a template has escaped it
}

// liveView is a view whose content follows a feed.
type liveView struct {
	feed string
	run  source
	// content returns the name of the template for a value of the feed, and its data.
	content func(value any, query url.Values) (template string, data any)
}

func (v liveView) render(st state, query url.Values) (template.HTML, error) {
	if st.value == nil {
		return rendered("reading", st.trouble)
	}
	return rendered(v.content(st.value, query))
}

// firstValueTimeout is how long a page waits for its first content. Content that comes later arrives by the stream.
const firstValueTimeout = 300 * time.Millisecond

// show writes a page with the present content of a view.
func (s *site) show(w http.ResponseWriter, r *http.Request, p page, view liveView) {
	joined, leave := s.feeds.join(view.feed, view.run)
	defer leave()
	st := joined.now()
	if st.value == nil {
		select {
		case <-st.changed:
		case <-time.After(firstValueTimeout):
		case <-r.Context().Done():
		}
		st = joined.now()
	}
	content, err := view.render(st, r.URL.Query())
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err)
		return
	}
	p.Content, p.Stream = content, s.Root+strings.TrimSuffix(r.URL.EscapedPath(), "/")+"/stream?"+r.URL.RawQuery
	s.write(w, http.StatusOK, p)
}

// ageInterval is how often a page is rendered again to update ages.
const ageInterval = 5 * time.Second

// stream sends the content of a view whenever it has changed.
func (s *site) stream(w http.ResponseWriter, r *http.Request, view liveView) {
	joined, leave := s.feeds.join(view.feed, view.run)
	defer leave()
	out := newEvents(w)
	ages := time.NewTicker(ageInterval)
	defer ages.Stop()
	var last template.HTML
	for {
		st := joined.now()
		var err error
		if st.value != nil { // otherwise the page keeps what it shows
			content, failed := view.render(st, r.URL.Query())
			if err = failed; err == nil && content != last {
				err = out.send("page", string(content))
				last = content
			}
		}
		if st.isFinal {
			_ = out.send("end", st.trouble)
		} else if st.value != nil || st.trouble != "" {
			err = errors.Join(err, out.tellState(st.trouble))
		}
		if err != nil || st.ended {
			return
		}
		select {
		case <-st.changed:
		case <-ages.C:
		case <-r.Context().Done():
			return
		}
	}
}

// reconnect is how long a browser waits before it connects again.
const reconnect = 5 * time.Second

// events writes server-sent events.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	state   string
}

func newEvents(w http.ResponseWriter) *events {
	e := &events{w: w, control: http.NewResponseController(w)}
	// The stream takes longer than a request may.
	_ = e.control.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "retry: %d\n\n", reconnect.Milliseconds())
	return e
}

func (e *events) send(name, data string) error {
	if _, err := fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", name, strings.ReplaceAll(strings.ReplaceAll(data, "\r", ""), "\n", "\ndata: ")); err != nil {
		return err
	}
	return e.control.Flush()
}

// tellState sends whether the content is up to date, unless it has just sent the same.
func (e *events) tellState(trouble string) error {
	text := "live"
	if trouble != "" {
		text = "reconnecting: " + trouble
	}
	if text == e.state {
		return nil
	}
	e.state = text
	return e.send("state", text)
}

// showTarget shows a page about a target.
func (s *site) showTarget(w http.ResponseWriter, r *http.Request) {
	target, name, err := s.viewOf(r)
	if err != nil {
		s.fail(w, http.StatusNotFound, err)
		return
	}
	p := page{site: s, Title: target.String(), Target: target, View: name}
	if view, isLive := s.liveView(target, p.View); isLive {
		s.show(w, r, p, view)
		return
	}
	name, data, err := s.content(r, target, p.View)
	if err == nil {
		p.Content, err = rendered(name, data)
	}
	if err != nil {
		s.fail(w, codeOf(err), err)
		return
	}
	if p.View == "logs" {
		p.Stream = target.Path + "/logs/stream?" + r.URL.RawQuery
	}
	s.write(w, http.StatusOK, p)
}

// streamTarget streams the content of a page about a target.
func (s *site) streamTarget(w http.ResponseWriter, r *http.Request) {
	target, name, err := s.viewOf(r)
	if err != nil {
		code := http.StatusServiceUnavailable
		if target != nil || meta.IsNoMatchError(err) {
			code = http.StatusNotFound
		}
		http.Error(w, err.Error(), code)
		return
	}
	if name == "logs" {
		s.streamLogs(w, r, target)
	} else if view, isLive := s.liveView(target, name); isLive {
		s.stream(w, r, view)
	} else {
		http.NotFound(w, r)
	}
}
