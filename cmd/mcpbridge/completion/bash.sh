# Completion of mcpbridge for bash:  source <(mcpbridge completion bash)
_mcpbridge() {
	# bash splits words at = and :, so they are put together again, up to the cursor.
	local rest="${COMP_LINE:0:COMP_POINT}" words=() i part blank
	for ((i = 0; i <= COMP_CWORD; i++)); do
		blank="${rest%%[![:space:]]*}"
		rest="${rest#"$blank"}"
		part="${COMP_WORDS[i]}"
		if ((i == COMP_CWORD)); then part="$rest"; fi
		if [[ -z "$blank" && ${#words[@]} -gt 0 ]]; then
			words[${#words[@]}-1]+="$part"
		else
			words+=("$part")
		fi
		rest="${rest#"$part"}"
	done

	local text quote kept closed line
	for i in "${!words[@]}"; do
		_mcpbridge_unquote "${words[i]}"
		words[i]="$text"
	done
	COMPREPLY=()
	[[ -n "$closed" ]] && return # bash would replace the quotes, too
	while IFS= read -r line; do
		case "$line" in
		:files | :folders)
			compopt -o filenames 2>/dev/null # bash quotes them
			[[ "$line" == :files ]] && part=-f || part=-d
			_mcpbridge_quote "${text#"$kept"}" # compgen unquotes it
			while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$part" -- "${line/#\\~/\~}")
			;;
		*)
			line="${line%%$'\t'*}"
			[[ "$line" == *= ]] && compopt -o nospace 2>/dev/null
			_mcpbridge_quote "${line#"$kept"}" # else bash would run what stands in it, or take it for two words
			COMPREPLY+=("$line")
			;;
		esac
	done < <("${words[0]/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null)
}

# _mcpbridge_unquote sets text to what a typed word means, quote to the one that is open at its end, kept to the part of
# text that bash does not replace, and closed if a quote has ended behind that.
_mcpbridge_unquote() {
	local typed="$1" i c next
	text="" quote="" kept="" closed=""
	for ((i = 0; i < ${#typed}; i++)); do
		c="${typed:i:1}" next="${typed:i+1:1}"
		case "$quote$c" in
		\' | \") quote="$c" kept="$text" closed="" ;;
		\'\' | \"\") quote="" closed=yes ;;
		\\ | \"\\)
			[[ -z "$quote" || "$next" == [\"\\\$\`] ]] && c="$next" i=$((i + 1))
			text+="$c"
			;;
		@) kept="$text" text+="$c" ;;
		*)
			text+="$c"
			[[ -z "$quote" && "$COMP_WORDBREAKS" == *"$c"* ]] && kept="$text" closed=""
			;;
		esac
	done
}

# _mcpbridge_quote sets line to a text as it is typed behind the open quote.
_mcpbridge_quote() {
	local apart="'\\''"
	line="$1"
	case "$quote" in
	\') line="${line//\'/$apart}" ;;
	\") line="${line//\\/\\\\}" line="${line//\"/\\\"}" line="${line//\$/\\\$}" line="${line//\`/\\\`}" ;;
	*) printf -v line %q "$line" ;;
	esac
}
complete -F _mcpbridge mcpbridge
