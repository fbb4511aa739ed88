// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/types"
)

// Options configure a Connection.
type Options struct {
	// Config says how to connect to the cluster. Required.
	Config *rest.Config
	// Holder names this process to others that wait for its locks, such as "alice@laptop/4711". Required.
	Holder string
	// Started is when this process was started: other processes compare it with their own start. Defaults to the time
	// when the connection is opened.
	Started time.Time
	// Printer shows operations. Defaults to none.
	Printer display.Printer
	// Clock defaults to the real time.
	Clock clock.WithTicker
	// MaxConcurrency is the maximum number of concurrent requests about dependents. Defaults to that of the engine.
	MaxConcurrency int
	// Log gets the requests that the verbosity, which is that of kubectl, says. It must be safe for concurrent use.
	// Defaults to none.
	Log       io.Writer
	Verbosity int
}

// Connection accesses one cluster as one user, and the releases in it. It is safe for concurrent use.
type Connection struct {
	options Options
	factory *clients.Factory
	client  *clients.Connection
	records *releases.Store
	// definitions are shared by all that looks at dependents.
	definitions *judges.Definitions
	// discovered is closed when discovery has ended, whether or not it has succeeded.
	discovered chan struct{}
}

// Open returns a connection. It does not wait for the cluster, but starts discovery, which all commands need.
func Open(options Options) (*Connection, error) {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Started.IsZero() {
		options.Started = options.Clock.Now()
	}
	if options.Printer == nil {
		options.Printer = display.Silent{}
	}
	config := options.Config
	if options.Log != nil && options.Verbosity > 0 {
		config = rest.CopyConfig(config)
		config.Wrap(logRequests(options.Log, options.Verbosity))
	}
	factory, err := clients.New(clients.Options{
		Name:   "clm",
		Config: config,
		// The engine reports the warnings of servers.
		WarningHandler: rest.NoWarnings{},
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	c := &Connection{
		options:     options,
		factory:     factory,
		client:      factory.Local(),
		definitions: judges.NewDefinitions(factory.Local()),
		records:     releases.NewStore(releases.Options{Client: factory.Local(), Clock: options.Clock}),
		discovered:  make(chan struct{}),
	}
	go func() {
		defer close(c.discovered)
		// If it fails, the next user of the mapper tries again, and gets the error.
		_, _ = c.client.RESTMapper().RESTMapping(schema.GroupKind{Kind: "Secret"})
	}()
	return c, nil
}

// Ready waits until discovery has ended, whether or not it has succeeded. The error is that of the context: discovery
// itself has no context, and takes long if the server does not answer.
func (c *Connection) Ready(ctx context.Context) error {
	select {
	case <-c.discovered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Definitions returns what is known of the types of dependents.
func (c *Connection) Definitions() *judges.Definitions { return c.definitions }

// MaxConcurrency returns the maximum number of concurrent requests about dependents; 0 means that of the engine.
func (c *Connection) MaxConcurrency() int { return c.options.MaxConcurrency }

// Records returns the store of all releases.
func (c *Connection) Records() *releases.Store { return c.records }

// Release reads a release. If it does not exist, the error names the existing ones.
func (c *Connection) Release(ctx context.Context, namespace, name string) (*releases.Release, error) {
	release, err := c.records.Get(ctx, namespace, name)
	if errors.Is(err, releases.ErrNotFound) {
		return nil, c.suggest(ctx, namespace, name, err)
	}
	return release, err
}

// Absent returns the error for a release that was not found; never nil. The error names the existing releases. Absent
// does not look for the release again.
func (c *Connection) Absent(ctx context.Context, namespace, name string) error {
	return c.suggest(ctx, namespace, name, fmt.Errorf("release %s/%s: %w", namespace, name, releases.ErrNotFound))
}

// suggest adds the existing releases to the error for a release that does not exist, or that parts of its record are
// left.
func (c *Connection) suggest(ctx context.Context, namespace, name string, err error) error {
	if parts, partsErr := c.records.HasParts(ctx, namespace, name); partsErr == nil && parts {
		// It may have been created since it was looked for.
		if _, again := c.records.Get(ctx, namespace, name); errors.Is(again, releases.ErrNotFound) {
			return fmt.Errorf("%w; but there are parts of its record, which was lost. "+
				"To see what is left: clm doctor %[2]s -n %[3]s. To rebuild the record, or to remove these parts: clm doctor %[2]s -n %[3]s --fix", err, name, namespace)
		}
	}
	nearby, listErr := c.records.Nearby(ctx, namespace, name)
	switch {
	case listErr != nil:
		return err
	case len(nearby) == 0:
		return fmt.Errorf("%w; there are no releases in namespace %s", err, namespace)
	default:
		return fmt.Errorf("%w; existing releases: %s", err, strings.Join(nearby, ", "))
	}
}

// Printer returns the printer that shows operations.
func (c *Connection) Printer() display.Printer { return c.options.Printer }

// Clock returns the clock.
func (c *Connection) Clock() clock.WithTicker { return c.options.Clock }

// Holder returns the name of this process for locks.
func (c *Connection) Holder() string { return c.options.Holder }

// Started returns when this process was started.
func (c *Connection) Started() time.Time { return c.options.Started }

// Client returns the client of the cluster.
func (c *Connection) Client() cluster.Client { return c.client }

// Close closes the connection.
func (c *Connection) Close() { c.factory.Close() }

// logRequests returns what makes a transport log its requests. The levels of verbosity are those of kubectl: 6 logs
// methods, URLs, status codes and durations, 7 also headers, and 9 curl commands and details of the connection.
// Credentials in headers are masked.
func logRequests(out io.Writer, verbosity int) transport.WrapperFunc {
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out), textlogger.Verbosity(verbosity)))
	return func(next http.RoundTripper) http.RoundTripper {
		return &loggingTransport{next: transport.NewDebuggingRoundTripper(next, transport.DebugByContext), logger: logger}
	}
}

// loggingTransport gives each request a logger.
type loggingTransport struct {
	next   http.RoundTripper
	logger klog.Logger
}

// RoundTrip implements http.RoundTripper.
func (t *loggingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	return t.next.RoundTrip(request.WithContext(klog.NewContext(request.Context(), t.logger)))
}

// WrappedRoundTripper returns the transport behind this one, as client-go asks for it.
func (t *loggingTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// reference is an object as a user names it.
type reference struct {
	text string
	// kind is a kind, a resource or a short name, with the group if there is a dot in it.
	kind string
	// namespace is empty if it was not given.
	namespace, name string
}

func parseReference(text string) (reference, error) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return reference{}, fmt.Errorf("invalid object %q; must be KIND[.GROUP]/[NAMESPACE/]NAME, for example deployment/web", text)
	}
	r := reference{text: text, kind: parts[0], name: parts[len(parts)-1]}
	if len(parts) == 3 {
		r.namespace = parts[1]
	}
	return r, nil
}

// Scope is where objects are looked for.
type Scope struct {
	// Name for people, such as "release default/web".
	Name string
	// Show is the command that lists the objects.
	Show string
}

// An Object is one that users can name. Its text is used in errors.
type Object interface {
	types.ObjectKey
	fmt.Stringer
}

// Resolve returns the objects that texts denote, each once: KIND[.GROUP]/[NAMESPACE/]NAME. The kind may be a resource
// or a short name of the cluster. The error is a RefusedError if a text denotes no object, or several of them.
func Resolve[O Object](clnt cluster.Client, texts []string, among []O, in Scope) ([]O, error) {
	var found []O
	seen := map[display.Key]bool{}
	for _, text := range texts {
		r, err := parseReference(text)
		if err != nil {
			return nil, err
		}
		match, err := match(clnt, r, among, in)
		if err != nil {
			return nil, err
		}
		if !seen[display.KeyOf(match)] {
			seen[display.KeyOf(match)] = true
			found = append(found, match)
		}
	}
	return found, nil
}

// match returns the one object that a reference denotes.
func match[O Object](clnt cluster.Client, r reference, among []O, in Scope) (O, error) {
	var none O
	named := slices.DeleteFunc(slices.Clone(among), func(object O) bool {
		return object.GetName() != r.name || r.namespace != "" && object.GetNamespace() != r.namespace
	})
	fits := func(isKind func(schema.GroupKind) bool) []O {
		return slices.DeleteFunc(slices.Clone(named), func(object O) bool { return !isKind(display.KeyOf(object).GroupKind) })
	}
	matches := fits(func(kind schema.GroupKind) bool { return r.isNameOf(kind.Kind, kind.Group) })
	if len(matches) == 0 && len(named) > 0 {
		kinds, err := kindsNamed(clnt, r)
		if err != nil {
			return none, err
		}
		matches = fits(func(kind schema.GroupKind) bool { return kinds[kind] })
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return none, releases.Refused("object %s not found in %s; to list its objects: %s", r.text, in.Name, in.Show)
	default:
		texts := make([]string, len(matches))
		for i, match := range matches {
			texts[i] = match.String()
		}
		return none, ambiguous(r.text, in.Name, texts)
	}
}

// ambiguous returns the RefusedError about a text that denotes several objects.
func ambiguous(text, scope string, candidates []string) error {
	return releases.Refused("%s matches several objects in %s: %s; specify the group or the namespace", text, scope, strings.Join(candidates, ", "))
}

// isNameOf reports whether a type of this name and group is meant.
func (r reference) isNameOf(name, group string) bool {
	return strings.EqualFold(r.kind, name) || strings.EqualFold(r.kind, name+"."+group)
}

// kindsNamed returns the types that have a resource, or a short name, as it was given.
func kindsNamed(clnt cluster.Client, r reference) (map[schema.GroupKind]bool, error) {
	lists, err := clnt.DiscoveryClient().ServerPreferredResources()
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) {
		return nil, fmt.Errorf("discovering types: %w", err)
	}
	kinds := map[schema.GroupKind]bool{}
	EachResource(lists, func(gv schema.GroupVersion, resource metav1.APIResource) {
		names := append([]string{resource.Name, resource.SingularName}, resource.ShortNames...)
		if slices.ContainsFunc(names, func(name string) bool { return name != "" && r.isNameOf(name, gv.Group) }) {
			kinds[schema.GroupKind{Group: gv.Group, Kind: resource.Kind}] = true
		}
	})
	return kinds, nil
}

// EachResource visits all resources that were discovered, and that are no subresources.
func EachResource(lists []*metav1.APIResourceList, visit func(gv schema.GroupVersion, resource metav1.APIResource)) {
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") {
				visit(schema.GroupVersion{Group: cmp.Or(resource.Group, gv.Group), Version: cmp.Or(resource.Version, gv.Version)}, resource)
			}
		}
	}
}

// Choice is what was chosen among the pods of a release. It is safe for concurrent use.
type Choice struct {
	release *releases.Release
	choices []*choice
}

// Choose returns the choice of the pods that are, or whose dependent is, among the named objects:
// KIND[.GROUP]/[NAMESPACE/]NAME. Without names these are all. That a release has no such dependent, or several of them,
// is a RefusedError; pods come and go.
func Choose(clnt cluster.Client, release *releases.Release, texts []string) (*Choice, error) {
	chosen := &Choice{release: release}
	for _, text := range texts {
		c := &choice{}
		var err error
		if c.reference, err = parseReference(text); err != nil {
			return nil, err
		}
		if c.kinds, err = kindsNamed(clnt, c.reference); err != nil {
			return nil, err
		}
		var denoted []string
		for _, item := range release.Inventory {
			if c.denotes(item.GroupVersionKind().GroupKind(), item.Namespace, item.Name) {
				denoted = append(denoted, display.Text(item))
			}
		}
		switch {
		case len(denoted) > 1:
			return nil, ambiguous(text, "release "+release.String(), denoted)
		case len(denoted) == 0 && !c.kinds[schema.GroupKind{Kind: "Pod"}]:
			return nil, releases.Refused("release %s has no dependent %s; to list them: clm tree %s -n %s", release, text, release.Name, release.Namespace)
		}
		// A dependent is there, whether it has pods or not.
		c.found.Store(len(denoted) > 0)
		chosen.choices = append(chosen.choices, c)
	}
	return chosen, nil
}

// Has reports whether a pod of a dependent, perhaps itself, is chosen.
func (c *Choice) Has(dependent, pod display.Object) bool {
	has := len(c.choices) == 0
	for _, choice := range c.choices {
		for _, object := range []display.Object{dependent, pod} {
			if choice.denotes(schema.FromAPIVersionAndKind(object.APIVersion, object.Kind).GroupKind(), object.Namespace, object.Name) {
				choice.found.Store(true)
				has = true
			}
		}
	}
	return has
}

// ConfirmFound returns a RefusedError if pods were chosen for which Has was never called.
func (c *Choice) ConfirmFound() error {
	for _, choice := range c.choices {
		if !choice.found.Load() {
			return releases.Refused("release %s has no %s; to list its objects: clm tree %s -n %s", c.release, choice.text, c.release.Name, c.release.Namespace)
		}
	}
	return nil
}

// choice is a reference with the types that it may mean.
type choice struct {
	reference
	kinds map[schema.GroupKind]bool
	found atomic.Bool
}

func (c *choice) denotes(kind schema.GroupKind, namespace, name string) bool {
	return name == c.name && (c.namespace == "" || namespace == c.namespace) && (c.isNameOf(kind.Kind, kind.Group) || c.kinds[kind])
}
