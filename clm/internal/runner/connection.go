// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/types"
)

// Options configure a Connection.
type Options struct {
	// Config configures the connection to the cluster. Required.
	Config *rest.Config
	// Holder names this process to others that wait for its locks, such as "alice@laptop/4711". Required.
	Holder string
	// Started is when this process was started: other processes compare it with their own start. Required.
	Started time.Time
	// Printer shows operations. Defaults to none.
	Printer display.Printer
	// MaxConcurrency is the maximum number of concurrent requests about dependents. Defaults to the engine's default.
	MaxConcurrency int
	// Log receives the requests that Verbosity selects; its levels are those of kubectl. It must be safe for concurrent
	// use. Defaults to none.
	Log       io.Writer
	Verbosity int
}

// Connection accesses one cluster as one user, and the releases in it. It is safe for concurrent use.
type Connection struct {
	options Options
	factory *clients.Factory
	client  *clients.Connection
	records *releases.Store
	// definitions are shared by all readers of dependents.
	definitions *judges.Definitions
	// discovered is closed when discovery has ended, successfully or not.
	discovered chan struct{}
}

// Open returns a connection. It does not wait for the cluster, but starts discovery, which all commands need.
func Open(options Options) (*Connection, error) {
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
		records:     releases.NewStore(factory.Local()),
		discovered:  make(chan struct{}),
	}
	go func() {
		defer close(c.discovered)
		// If it fails, the next use of the mapper retries and returns the error.
		_, _ = c.client.RESTMapper().RESTMapping(schema.GroupKind{Kind: "Secret"})
	}()
	return c, nil
}

// Ready waits until discovery has ended, successfully or not. It returns the error of the context if that ends first:
// discovery itself has no context, and takes long if the server does not answer.
func (c *Connection) Ready(ctx context.Context) error {
	select {
	case <-c.discovered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

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

// suggest adds the existing releases to the error for a release that does not exist, or a hint if parts of its record
// are left.
func (c *Connection) suggest(ctx context.Context, namespace, name string, err error) error {
	if parts, partsErr := c.records.HasParts(ctx, namespace, name); partsErr == nil && parts {
		// The release may have been created in the meantime.
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

// User returns the user of this process and the machine, such as "jane@laptop".
func (c *Connection) User() string {
	user, _, _ := strings.Cut(c.options.Holder, "/")
	return user
}

// With returns the same connection with another printer, for an operation beside others. Only the original is closed.
func (c *Connection) With(printer display.Printer) *Connection {
	other := *c
	other.options.Printer = printer
	return &other
}

// Client returns the client of the cluster.
func (c *Connection) Client() cluster.Client { return c.client }

// Close closes the connection.
func (c *Connection) Close() { c.factory.Close() }

// logRequests returns a wrapper that makes a transport log its requests. The levels of verbosity are those of kubectl:
// 6 logs methods, URLs, status codes and durations, 7 also headers, and 9 curl commands and details of the connection.
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
	// kinds are the types that have kind as a resource or a short name; set by lookUp.
	kinds map[schema.GroupKind]bool
	// found means that it denotes a dependent, or a pod for which Choice.Has was called.
	found bool
}

func parseReference(text string) (*reference, error) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return nil, fmt.Errorf("invalid object %q; must be KIND[.GROUP]/[NAMESPACE/]NAME, for example deployment/web", text)
	}
	r := &reference{text: text, kind: parts[0], name: parts[len(parts)-1]}
	if len(parts) == 3 {
		r.namespace = parts[1]
	}
	return r, nil
}

// isNameOf reports whether the reference is to a type of this name and group.
func (r *reference) isNameOf(name, group string) bool {
	return strings.EqualFold(r.kind, name) || strings.EqualFold(r.kind, name+"."+group)
}

// names reports whether an object has the name, and the namespace if it was given.
func (r *reference) names(object types.ObjectKey) bool {
	return object.GetName() == r.name && (r.namespace == "" || object.GetNamespace() == r.namespace)
}

// denotes reports whether the reference is to an object, as far as the kind of the reference is resolved.
func (r *reference) denotes(object types.ObjectKey) bool {
	kind := display.KeyOf(object).GroupKind
	return r.names(object) && (r.isNameOf(kind.Kind, kind.Group) || r.kinds[kind])
}

// lookUp asks the server for the types that have kind as a resource or a short name.
func (r *reference) lookUp(clnt cluster.Client) error {
	r.kinds = map[schema.GroupKind]bool{}
	_, err := EachResource(clnt, func(gv schema.GroupVersion, resource metav1.APIResource) {
		names := append([]string{resource.Name, resource.SingularName}, resource.ShortNames...)
		if slices.ContainsFunc(names, func(name string) bool { return name != "" && r.isNameOf(name, gv.Group) }) {
			r.kinds[schema.GroupKind{Group: gv.Group, Kind: resource.Kind}] = true
		}
	})
	return err
}

// Scope is where objects are looked for.
type Scope struct {
	// Name for people, such as "release default/web".
	Name string
	// Show is the command that lists the objects.
	Show string
}

// Resolve returns the objects that texts denote, each once: KIND[.GROUP]/[NAMESPACE/]NAME. The kind may be a resource
// or a short name of the cluster. The error is a RefusedError if a text denotes no object, or several of them.
func Resolve[O types.ObjectKey](clnt cluster.Client, texts []string, among []O, in Scope) ([]O, error) {
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
func match[O types.ObjectKey](clnt cluster.Client, r *reference, among []O, in Scope) (O, error) {
	var none O
	matches := denoted(r, among)
	if len(matches) == 0 && slices.ContainsFunc(among, func(object O) bool { return r.names(object) }) {
		if err := r.lookUp(clnt); err != nil {
			return none, err
		}
		matches = denoted(r, among)
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return none, releases.Refused("object %s not found in %s; to list its objects: %s", r.text, in.Name, in.Show)
	default:
		return none, ambiguous(r, in.Name, matches)
	}
}

func denoted[O types.ObjectKey](r *reference, among []O) []O {
	return slices.DeleteFunc(slices.Clone(among), func(object O) bool { return !r.denotes(object) })
}

// ambiguous returns the RefusedError about a text that denotes several objects.
func ambiguous[O types.ObjectKey](r *reference, scope string, candidates []O) error {
	texts := display.Map(candidates, display.Text)
	return releases.Refused("%s matches several objects in %s: %s; specify the group or the namespace", r.text, scope, strings.Join(texts, ", "))
}

// EachResource visits all resources of the server except subresources. It returns the groups that do not answer.
func EachResource(clnt cluster.Client, visit func(gv schema.GroupVersion, resource metav1.APIResource)) (silent []schema.GroupVersion, err error) {
	lists, err := clnt.DiscoveryClient().ServerPreferredResources()
	if partial, isPartial := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err); isPartial {
		silent = slices.Collect(maps.Keys(partial.Groups))
	} else if err != nil {
		return nil, fmt.Errorf("discovering types: %w", err)
	}
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
	return silent, nil
}

// Choice is a selection of pods of a release or a component.
type Choice struct {
	scope  Scope
	chosen []*reference
}

// Choose selects pods by objects in the form KIND[.GROUP]/[NAMESPACE/]NAME, which are the pods or their dependents.
// Without objects it selects all. The error is a RefusedError if no dependent, or more than one, matches a text. Pods
// need not exist yet, because they come and go.
func Choose[O types.ObjectKey](clnt cluster.Client, texts []string, among []O, in Scope) (*Choice, error) {
	c := &Choice{scope: in}
	for _, text := range texts {
		r, err := parseReference(text)
		if err != nil {
			return nil, err
		}
		if err := r.lookUp(clnt); err != nil {
			return nil, err
		}
		dependents := denoted(r, among)
		switch {
		case len(dependents) > 1:
			return nil, ambiguous(r, in.Name, dependents)
		case len(dependents) == 0 && !r.kinds[schema.GroupKind{Kind: "Pod"}]:
			return nil, releases.Refused("%s has no dependent %s; to list them: %s", in.Name, text, in.Show)
		}
		// A dependent counts as found even if it has no pods.
		r.found = len(dependents) > 0
		c.chosen = append(c.chosen, r)
	}
	return c, nil
}

// Has reports whether a pod is chosen. The pod may be the dependent itself.
func (c *Choice) Has(dependent, pod display.Object) bool {
	has := len(c.chosen) == 0
	for _, r := range c.chosen {
		if r.denotes(dependent) || r.denotes(pod) {
			r.found, has = true, true
		}
	}
	return has
}

// ConfirmFound returns a RefusedError if pods were chosen for which Has was never called.
func (c *Choice) ConfirmFound() error {
	for _, r := range c.chosen {
		if !r.found {
			return releases.Refused("%s has no %s; to list its objects: %s", c.scope.Name, r.text, c.scope.Show)
		}
	}
	return nil
}
