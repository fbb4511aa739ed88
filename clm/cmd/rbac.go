// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	validname "k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/rights"
)

// rbacOptions are the options of clm rbac.
type rbacOptions struct {
	name            string
	sources         sourceFlags
	policies        policyFlags
	createNamespace bool
	roleName        string
	serviceAccount  string
	output          choice
}

func newRbacCommand(e *environment) *cobra.Command {
	o := rbacOptions{output: choice{value: outputYAML, allowed: []string{outputYAML, outputJSON}}}
	command := &cobra.Command{
		Use:   "rbac NAME SOURCE...",
		Short: "Show the permissions that are needed to manage a release",
		Long: `Show Roles, and a ClusterRole if one is needed, with the minimum permissions that are needed to apply the sources as release NAME, to roll it back
and to delete it. They cover the kinds of its objects, and the record and the lock of the release; not the pods, ReplicaSets and events that explain why an
object is not ready.

There is a Role in each namespace that has objects. The ClusterRole is for cluster-scoped types, and for namespaces that are part of the release, because
they cannot have a Role beforehand. A release that contains roles needs the permission to escalate and to bind these roles. The roles do not cover objects
that templates look up.

clm asks the cluster only about types that neither Kubernetes nor the release defines.

` + sourcesHelp,
		Example: "  clm rbac web ./chart -n shop --service-account deployer | kubectl apply -f -",
		RunE: func(command *cobra.Command, args []string) error {
			o.name, o.sources.references = args[0], args[1:]
			return runRbac(command.Context(), e, o)
		},
	}
	flags := command.Flags()
	addSourceFlags(flags, &o.sources)
	addPolicyFlags(flags, &o.policies)
	addOfflineFlags(flags, &o.sources)
	flags.BoolVar(&o.createNamespace, "create-namespace", false, "include the permission to create the namespace of the release if it does not exist")
	flags.StringVar(&o.roleName, "role-name", "", "`name` of the roles and bindings (default clm.NAMESPACE.NAME)")
	flags.StringVar(&o.serviceAccount, "service-account", "", "also show bindings for this service account: `[namespace:]name` (default namespace that of the release)")
	flags.VarP(&o.output, "output", "o", "output format")
	return command
}

func runRbac(ctx context.Context, e *environment, o rbacOptions) error {
	namespace, err := e.namespace()
	if err != nil {
		return err
	}
	if err := releases.ValidateName(o.name); err != nil {
		return err
	}
	name := cmp.Or(o.roleName, strings.Join([]string{"clm", namespace, o.name}, "."))
	if problems := validname.IsPathSegmentName(name); len(problems) > 0 {
		return fmt.Errorf("flag --role-name: %q is not a valid role name: it %s", name, strings.Join(problems, ", and "))
	}
	account, err := parseServiceAccount(o.serviceAccount, namespace)
	if err != nil {
		return err
	}
	request := rights.Request{
		ReconcilerName: releases.ReconcilerName, Namespace: namespace, Record: releases.Rights(o.name),
		CreateNamespace: o.createNamespace, ReadsDefinitions: true, UpdatePolicy: o.policies.update.value,
	}
	if request.Objects, err = o.generate(ctx, e, namespace); err != nil {
		return err
	}
	request.Resolve = func(kind schema.GroupKind) (rights.Resource, error) { return resolve(ctx, e, kind) }
	needed, err := rights.Of(request)
	if err != nil {
		return err
	}
	return printRoles(e, rights.Roles(needed, name, account), o.output.value)
}

// parseServiceAccount parses NAME or NAMESPACE:NAME, as kubectl does.
func parseServiceAccount(text, namespace string) (apitypes.NamespacedName, error) {
	if text == "" {
		return apitypes.NamespacedName{}, nil
	}
	account := apitypes.NamespacedName{Namespace: namespace, Name: text}
	if before, after, found := strings.Cut(text, ":"); found {
		account = apitypes.NamespacedName{Namespace: before, Name: after}
	}
	if len(utilvalidation.IsDNS1123Label(account.Namespace))+len(utilvalidation.IsDNS1123Subdomain(account.Name)) > 0 {
		return account, fmt.Errorf("flag --service-account: %q is neither the name of a service account nor namespace:name", text)
	}
	return account, nil
}

// generate returns the objects of the first revision and of a later one, including all hooks.
func (o rbacOptions) generate(ctx context.Context, e *environment, namespace string) ([]*unstructured.Unstructured, error) {
	set, err := o.sources.load(ctx, e)
	if err != nil {
		return nil, err
	}
	request := sources.Request{ReconcilerName: releases.ReconcilerName, Namespace: namespace, Name: o.name, ReleaseHooks: true}
	if request.Client, err = o.sources.offline(); err != nil {
		return nil, err
	}
	var result []*unstructured.Unstructured
	for _, installed := range []bool{false, true} {
		request.Revision++
		request.Installed = installed
		generated, err := set.Generate(ctx, request)
		if err != nil {
			return nil, err
		}
		result = append(result, generated.Objects...)
	}
	return result, nil
}

// resolve asks the cluster for a type.
func resolve(ctx context.Context, e *environment, kind schema.GroupKind) (rights.Resource, error) {
	s, err := e.open(ctx, false)
	if err != nil {
		return rights.Resource{}, err
	}
	defer s.Close()
	mapping, err := s.Client().RESTMapper().RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return rights.Resource{}, fmt.Errorf("type %s is not known: neither Kubernetes nor the release defines it, nor does the cluster", kind)
	}
	if err != nil {
		return rights.Resource{}, fmt.Errorf("type %s is not built into Kubernetes, and the release does not define it; looking it up in the cluster: %w", kind, err)
	}
	return rights.ResourceOf(mapping), nil
}

// printRoles writes roles as documents that kubectl can apply.
func printRoles(e *environment, roles []client.Object, format string) error {
	documents := display.Map(roles, func(role client.Object) any { return role })
	if format == outputJSON {
		return printDocuments(e, listOf(documents).Object, format)
	}
	return printDocuments(e, documents, format)
}
