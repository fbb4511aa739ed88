// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/internal/testenv"
)

// Rights compare what the operator did with what the chart allows.
type Rights struct {
	// Denied are requests of the operator that the API server denied for lack of a right, as "verb resource.group".
	Denied []string
	// Unused are rights that the operator did not need, in the same form. Rules with wildcards count as they are written. To read is one right: if the
	// operator may get, list and watch objects, and did one of these, none is unused, because which of them a client uses depends on the API server and on
	// what happens meanwhile. Rights that are in a role which the operator wrote count as used, because nobody may hand out what they do not have.
	Unused []string
}

// reading are the verbs that make up one right.
var reading = []string{"get", "list", "watch"}

// grant is a verb on a resource that a role allows.
type grant struct {
	verb, group, resource string
	// names restrict it to objects; empty for all.
	names []string
	// namespace restricts it to a namespace; empty for the whole cluster.
	namespace string
}

// grants are all rights of an operator.
type grants []grant

// String is "verb resource.group".
func (g grant) String() string {
	if g.group == "" {
		return g.verb + " " + g.resource
	}
	return g.verb + " " + g.resource + "." + g.group
}

// isUsed reports whether the right, or for reading one like it, is among those that are used.
func (g grant) isUsed(used map[string]bool) bool {
	if !slices.Contains(reading, g.verb) {
		return used[g.String()]
	}
	return slices.ContainsFunc(reading, func(verb string) bool {
		g.verb = verb
		return used[g.String()]
	})
}

// Rights returns how the operator has used its rights so far. It needs Options.Chart.
func (c *Cluster) Rights() Rights {
	used := map[string]bool{}
	var rights Rights
	for _, request := range c.requests.All() {
		if request.Resource == "" {
			continue
		}
		for _, verb := range verbsOf(request) {
			used[neededFor(request, verb).String()] = true
		}
		if denied := c.rights.denied(request); denied != "" {
			rights.Denied = append(rights.Denied, denied)
		}
	}
	for _, right := range c.passedOn.all() {
		used[right.String()] = true
	}
	for _, right := range c.rights {
		if !right.isUsed(used) {
			rights.Unused = append(rights.Unused, right.String())
		}
	}
	slices.Sort(rights.Denied)
	slices.Sort(rights.Unused)
	rights.Denied, rights.Unused = slices.Compact(rights.Denied), slices.Compact(rights.Unused)
	return rights
}

// denied returns the right that the operator lacked for a request; empty if the request was not denied for lack of a right. Admission may also deny what
// a role allows.
func (g grants) denied(request requests.Request) string {
	if request.Status != http.StatusForbidden {
		return ""
	}
	verbs := verbsOf(request)
	if request.Method == http.MethodPatch {
		// An apply that has to create the object needs both. Which one was lacking is the one that no role has.
		verbs = []string{"patch", "create"}
	}
	for _, verb := range verbs {
		if needed := neededFor(request, verb); !g.allows(needed, request.Name) {
			return needed.String()
		}
	}
	return ""
}

// neededFor returns the right that a request needs to do what a verb says.
func neededFor(request requests.Request, verb string) grant {
	return grant{verb: verb, group: request.Group, resource: resourceOf(request), namespace: request.Namespace}
}

// allows reports whether a role of the chart has a right for an object, given by its name; the name is empty for requests about no single object.
func (g grants) allows(needed grant, name string) bool {
	return slices.ContainsFunc(g, func(right grant) bool {
		return (right.namespace == "" || right.namespace == needed.namespace) && (len(right.names) == 0 || slices.Contains(right.names, name)) &&
			isOrAny(right.verb, needed.verb) && isOrAny(right.group, needed.group) && isOrAny(right.resource, needed.resource)
	})
}

// isOrAny reports whether a part of a rule includes a value.
func isOrAny(part, value string) bool { return part == value || part == rbacv1.ResourceAll }

func resourceOf(request requests.Request) string {
	if request.Subresource == "" {
		return request.Resource
	}
	return request.Resource + "/" + request.Subresource
}

// verbsOf returns the verbs that the API server asks for. Server-side apply that creates an object needs two.
func verbsOf(request requests.Request) []string {
	switch {
	case request.Method == http.MethodPost:
		return []string{"create"}
	case request.Method == http.MethodPut:
		return []string{"update"}
	case request.Method == http.MethodPatch && request.Status == http.StatusCreated:
		return []string{"create", "patch"}
	case request.Method == http.MethodPatch:
		return []string{"patch"}
	case request.Method == http.MethodDelete && request.Name == "":
		return []string{"deletecollection"}
	case request.Method == http.MethodDelete:
		return []string{"delete"}
	case request.IsWatch():
		return []string{"watch"}
	case request.Name == "":
		return []string{"list"}
	default:
		return []string{"get"}
	}
}

// grantRights creates the service account of the chart with its roles, and returns a configuration that acts as the account.
func (c *Cluster) grantRights(tb testing.TB, chart *operatorChart) *rest.Config {
	tb.Helper()
	for _, object := range slices.Concat(chart.accounts, chart.roles, chart.bindings) {
		key := c.locate(tb, object)
		configuration := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
		if err := c.client.Apply(tb.Context(), configuration, client.FieldOwner(user), client.ForceOwnership); err != nil {
			tb.Fatalf("applying %s: %v", key, err)
		}
		tb.Cleanup(func() {
			if err := client.IgnoreNotFound(c.client.Delete(context.WithoutCancel(tb.Context()), object)); err != nil {
				tb.Errorf("deleting %s: %v", key, err)
			}
		})
	}
	for _, role := range chart.roles {
		c.rights = append(c.rights, grantsOf(tb, role)...)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: chart.accounts[0].GetNamespace(), Name: chart.accounts[0].GetName()}}
	token := &authenticationv1.TokenRequest{}
	if err := c.client.SubResource("token").Create(tb.Context(), account, token); err != nil {
		tb.Fatalf("getting a token for service account %s: %v", account.Name, err)
	}
	config := rest.AnonymousClientConfig(testenv.Config(tb))
	config.BearerToken = token.Status.Token
	config.QPS = -1
	c.awaitRights(tb, "system:serviceaccount:"+account.Namespace+":"+account.Name)
	return config
}

// grantsOf takes the rules of a role apart. A rule for everything counts as it is written.
func grantsOf(tb testing.TB, role *unstructured.Unstructured) []grant {
	tb.Helper()
	typed := &rbacv1.ClusterRole{} // a Role has the same fields
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(role.Object, typed); err != nil {
		tb.Fatalf("reading the rules of %s %s: %v", role.GetKind(), role.GetName(), err)
	}
	return grantsIn(typed.Rules, role.GetNamespace())
}

func grantsIn(rules []rbacv1.PolicyRule, namespace string) []grant {
	var grants []grant
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					grants = append(grants, grant{verb: verb, group: group, resource: resource, names: rule.ResourceNames, namespace: namespace})
				}
			}
		}
	}
	return grants
}

// awaitRights waits until the API server knows all rights of the user: it learns of roles with a delay.
func (c *Cluster) awaitRights(tb testing.TB, account string) {
	tb.Helper()
	for _, right := range c.rights {
		resource, subresource, _ := strings.Cut(right.resource, "/")
		attributes := &authorizationv1.ResourceAttributes{
			Namespace: right.namespace, Verb: right.verb, Group: right.group, Resource: resource, Subresource: subresource,
		}
		if len(right.names) > 0 {
			attributes.Name = right.names[0]
		}
		testenv.Eventually(tb, func() (bool, string) {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: account, ResourceAttributes: attributes}}
			if err := c.client.Create(tb.Context(), review); err != nil {
				return false, err.Error()
			}
			return review.Status.Allowed, "the chart has a role that allows " + right.String() + ", but its service account may not"
		})
	}
}
