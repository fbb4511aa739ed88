// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/helm/remote"
)

// completionTimeout limits how long the user waits after pressing the tab key.
const completionTimeout = 3 * time.Second

// completer returns completions. Its errors, such as that of an unreachable cluster, are not shown because the user is
// still typing.
type completer func(ctx context.Context, e *environment, args []string) ([]cobra.Completion, error)

// argumentCompleters complete arguments, by their names in the usage of a command. Other arguments are completed with
// files.
var argumentCompleters = map[string]completer{
	"NAME":         completeReleases,
	"NAME...":      completeReleases,
	targetArgument: completeReleases,
	"REVISION":     completeOf(revisionsOf),
	"OBJECT...":    completeOf(dependentsOf),
	"REPO...":      completeRepositories,
}

// flagCompleters complete the values of flags.
var flagCompleters = map[string]completer{
	"namespace":      completeNamespaces,
	"from-namespace": completeNamespaces,
	"to-namespace":   completeNamespaces,
	"context":        completeKubeconfig(func(c clientcmdapi.Config) []string { return keysOf(c.Contexts) }),
	"kube-context":   completeKubeconfig(func(c clientcmdapi.Config) []string { return keysOf(c.Contexts) }),
	"cluster":        completeKubeconfig(func(c clientcmdapi.Config) []string { return keysOf(c.Clusters) }),
	"user":           completeKubeconfig(func(c clientcmdapi.Config) []string { return keysOf(c.AuthInfos) }),
	"revision":       completeOf(revisionsOf),
	"from":           completeReleases,
	"to":             completeReleases,
}

// addCompletions adds completions to a command and all its subcommands.
func addCompletions(e *environment, command *cobra.Command) {
	// In usage texts, flags follow the arguments.
	arguments, _, _ := strings.Cut(command.Use, " --")
	if _, after, _ := strings.Cut(arguments, " "); !command.HasSubCommands() && command.ValidArgsFunction == nil {
		command.ValidArgsFunction = argumentsCompleter(e, strings.Fields(after))
	}
	for _, flags := range []*pflag.FlagSet{command.Flags(), command.PersistentFlags()} {
		flags.VisitAll(func(flag *pflag.Flag) {
			if complete := flagCompleter(flag); complete != nil {
				// The only error is that the flag has a completion already, which is more specific.
				_ = command.RegisterFlagCompletionFunc(flag.Name, complete.offer(e))
			}
		})
	}
	for _, child := range command.Commands() {
		addCompletions(e, child)
	}
}

// argumentsCompleter completes arguments by their names in a usage text, such as NAME OBJECT... or NAME [REVISION].
func argumentsCompleter(e *environment, names []string) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(names) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		name := strings.Trim(names[min(len(args), len(names)-1)], "[]")
		if len(args) >= len(names) && !strings.HasSuffix(name, "...") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		complete := argumentCompleters[name]
		if complete == nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		offers, directive := complete.offer(e)(command, args, toComplete)
		return slices.DeleteFunc(offers, func(offer string) bool {
			text, _, _ := strings.Cut(offer, "\t")
			return slices.Contains(args, text)
		}), directive
	}
}

func flagCompleter(flag *pflag.Flag) completer {
	switch value := flag.Value.(type) {
	case *choice:
		return completeTexts(value.allowed...)
	case *choices:
		return completeTexts(value.allowed...)
	}
	if flag.Name == "output" {
		return completeTexts(genericclioptions.NewPrintFlags("").AllowedFormats()...)
	}
	return flagCompleters[flag.Name]
}

// offer returns the candidates that begin with the entered text.
func (c completer) offer(e *environment) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(command.Context(), completionTimeout)
		defer cancel()
		found := make(chan []cobra.Completion, 1)
		go func() {
			offers, err := c(ctx, e, args)
			if err != nil {
				cobra.CompDebugln(err.Error(), false)
				offers = nil
			}
			found <- slices.DeleteFunc(offers, func(offer string) bool { return !strings.HasPrefix(offer, toComplete) })
		}()
		select {
		case offers := <-found:
			return offers, cobra.ShellCompDirectiveNoFileComp
		case <-ctx.Done():
			// Not all discovery requests respect the context.
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
}

func completeTexts(texts ...string) completer {
	return func(context.Context, *environment, []string) ([]cobra.Completion, error) {
		return slices.Clone(texts), nil
	}
}

func completeKubeconfig(names func(config clientcmdapi.Config) []string) completer {
	return func(_ context.Context, e *environment, _ []string) ([]cobra.Completion, error) {
		config, err := e.kube.ToRawKubeConfigLoader().RawConfig()
		return names(config), err
	}
}

func keysOf[T any](entries map[string]T) []string { return slices.Sorted(maps.Keys(entries)) }

func completeReleases(ctx context.Context, e *environment, _ []string) (offers []cobra.Completion, err error) {
	err = e.with(ctx, false, func(s *runner.Connection, namespace string) error {
		names, err := s.Records().Names(ctx, namespace)
		for _, name := range names {
			offers = append(offers, name.Name)
		}
		return err
	})
	return offers, err
}

func completeNamespaces(ctx context.Context, e *environment, _ []string) (offers []cobra.Completion, err error) {
	err = e.with(ctx, false, func(s *runner.Connection, _ string) error {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
		err := s.Client().List(ctx, list)
		for _, namespace := range list.Items {
			offers = append(offers, namespace.Name)
		}
		return err
	})
	return offers, err
}

// completeOf completes parts of the release that the first argument names. Without that argument, it offers nothing.
func completeOf(parts func(release *releases.Release) []cobra.Completion) completer {
	return func(ctx context.Context, e *environment, args []string) (offers []cobra.Completion, err error) {
		if len(args) == 0 {
			return nil, nil
		}
		err = e.withRelease(ctx, args[0], func(_ *runner.Connection, release *releases.Release) error {
			offers = parts(release)
			return nil
		})
		return offers, err
	}
}

func completeRepositories(context.Context, *environment, []string) ([]cobra.Completion, error) {
	known, err := remote.Repositories()
	return remote.Names(known), err
}

// revisionsOf returns the numbers of revisions, latest first.
func revisionsOf(release *releases.Release) []cobra.Completion {
	var offers []cobra.Completion
	for _, revision := range slices.Backward(release.Revisions) {
		offers = append(offers, cobra.CompletionWithDesc(fmt.Sprint(revision.Number), display.Clean(string(revision.State)+", "+revision.Description)))
	}
	return offers
}

func dependentsOf(release *releases.Release) []cobra.Completion {
	var offers []cobra.Completion
	for _, item := range release.Inventory {
		path := strings.ToLower(item.Kind) + "/"
		if item.Namespace != "" && item.Namespace != release.Namespace {
			path += item.Namespace + "/"
		}
		offers = append(offers, cobra.CompletionWithDesc(path+item.Name, display.Text(item)))
	}
	slices.Sort(offers)
	return offers
}
